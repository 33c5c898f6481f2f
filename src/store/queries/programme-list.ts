// Programmes as a list shows them: whether callbacks are set up and work, and how much waits for a decision.

import { sql } from "kysely";
import { foldText } from "../../domain/visible-text.ts";
import type { Db } from "../store.ts";
import { endId, type ListPage, type PageRequest, readNewestFirst } from "./list-page.ts";

export interface ListedProgramme {
	id: number;
	publicId: string;
	name: string;
	currency: string;
	hasUrl: boolean;
	failingSinceMs: number | null;
	/** Counted up to WAITING_COUNTED. */
	waiting: number;
}

/** Beyond it nobody reads the exact number, and counting on would read every row. */
export const WAITING_COUNTED = 1_000;

/** Names held at once while one is looked for. */
const NAMES_AT_ONCE = 1_000;
const ID_PREFIX = "prg_";

export interface ProgrammeFilter extends PageRequest {
	/** Only those where this person has a role. */
	personId?: number | undefined;
	/** Part of the name, as foldText compares; or a whole id. */
	search?: string | undefined;
}

/** The newest first. */
export async function listProgrammes(db: Db, filter: ProgrammeFilter): Promise<ListPage<ListedProgramme>> {
	return readNewestFirst(filter, (beforeId, limit) => readProgrammes(db, filter, beforeId, limit));
}

async function readProgrammes(
	db: Db,
	{ personId, search }: ProgrammeFilter,
	beforeId: number,
	limit: number,
): Promise<ListedProgramme[]> {
	const isById = search?.startsWith(ID_PREFIX) === true;
	const named =
		search === undefined || isById ? undefined : await findByName(db, personId, search, beforeId, limit);
	if (named?.length === 0) return [];
	const rows = await db
		.selectFrom("programmes")
		.select((eb) => [
			"programmes.id",
			"programmes.public_id as publicId",
			"programmes.name",
			"programmes.currency",
			"programmes.endpoint_id as endpointId",
			eb
				.selectFrom("notices")
				.select("notices.opened_at_ms")
				.whereRef("notices.receiver_id", "=", "programmes.id")
				// As a literal: only then do both databases use the partial index.
				.where("notices.kind", "=", sql.lit("callbacks_failing"))
				.where("notices.ended_at_ms", "is", null)
				.where("notices.told_at_ms", "is not", null)
				.as("failingSinceMs"),
			eb
				.selectFrom((inner) =>
					inner
						.selectFrom("conversions")
						.select("conversions.programme_id")
						.whereRef("conversions.programme_id", "=", "programmes.id")
						.where("conversions.status", "=", sql.lit("RECORDED"))
						.where("conversions.test", "=", sql.lit(0))
						.limit(sql.lit(WAITING_COUNTED))
						.as("waiting_few"),
				)
				.select((inner) => inner.fn.countAll<number>().as("few"))
				.as("waiting"),
		])
		.$if(personId !== undefined, (query) => query.where(isOf(personId ?? 0)))
		.$if(isById, (query) => query.where("programmes.public_id", "=", search ?? ""))
		.$if(named !== undefined, (query) => query.where("programmes.id", "in", named ?? []))
		.where("programmes.id", "<", beforeId)
		.orderBy("programmes.id", "desc")
		.limit(limit)
		.execute();
	return rows.map(({ endpointId, waiting, ...row }) => ({
		...row,
		hasUrl: endpointId !== null,
		waiting: waiting ?? 0,
	}));
}

/**
 * Reads along the primary key until the page is full: a network has thousands of programmes, not millions. Compared
 * here and not there, because SQLite knows the small letters of English alone, and neither database folds as people do.
 */
async function findByName(
	db: Db,
	personId: number | undefined,
	search: string,
	beforeId: number,
	limit: number,
): Promise<number[]> {
	const wanted = foldText(search);
	const found: number[] = [];
	let before = beforeId;
	while (found.length < limit) {
		const names = await db
			.selectFrom("programmes")
			.select(["programmes.id", "programmes.name"])
			.$if(personId !== undefined, (query) => query.where(isOf(personId ?? 0)))
			.where("programmes.id", "<", before)
			.orderBy("programmes.id", "desc")
			.limit(NAMES_AT_ONCE)
			.execute();
		found.push(...names.filter(({ name }) => foldText(name).includes(wanted)).map(({ id }) => id));
		if (names.length < NAMES_AT_ONCE) break;
		before = endId(names.at(-1));
	}
	return found.slice(0, limit);
}

function isOf(personId: number) {
	return sql<boolean>`programmes.id in (
		select programme_people.programme_id from programme_people where programme_people.person_id = ${personId})`;
}

/** Whether anything was ever reported to this programme, test conversions included. */
export async function hasConversions(db: Db, programmeId: number): Promise<boolean> {
	const row = await db
		.selectFrom("conversions")
		.select("id")
		.where("programme_id", "=", programmeId)
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}
