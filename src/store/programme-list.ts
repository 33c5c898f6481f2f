// Programmes as a list shows them: whether callbacks are set up and work, and how much waits for a decision.

import { sql } from "kysely";
import { foldText } from "../domain/folded-text.ts";
import type { Db } from "./store.ts";

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

export interface ProgrammeFilter {
	/** Only this person's. */
	ownerId?: number | undefined;
	/** Part of the name, as domain/folded-text compares; or a whole id. */
	search?: string | undefined;
	/** Only programmes older than this one: how a listing goes on. */
	beforeId?: number | undefined;
	limit: number;
}

/** The newest first. */
export async function listProgrammes(db: Db, filter: ProgrammeFilter): Promise<ListedProgramme[]> {
	const { ownerId, search, beforeId } = filter;
	const isById = search?.startsWith(ID_PREFIX) === true;
	const named = search === undefined || isById ? undefined : await findByName(db, filter, search);
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
				.whereRef("notices.programme_id", "=", "programmes.id")
				// As a literal: only then do both databases use the partial index.
				.where("notices.kind", "=", sql.lit("callbacks_failing"))
				.where("notices.ended_at_ms", "is", null)
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
		.$if(ownerId !== undefined, (query) => query.where(isOwnedBy(ownerId ?? 0)))
		.$if(isById, (query) => query.where("programmes.public_id", "=", search ?? ""))
		.$if(named !== undefined, (query) => query.where("programmes.id", "in", named ?? []))
		.$if(beforeId !== undefined, (query) => query.where("programmes.id", "<", beforeId ?? 0))
		.orderBy("programmes.id", "desc")
		.limit(filter.limit)
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
	{ ownerId, beforeId, limit }: ProgrammeFilter,
	search: string,
): Promise<number[]> {
	const wanted = foldText(search);
	const found: number[] = [];
	let before = beforeId;
	while (found.length < limit) {
		const names = await readNames(db, ownerId, before);
		found.push(...names.filter(({ name }) => foldText(name).includes(wanted)).map(({ id }) => id));
		before = names.at(-1)?.id;
		if (names.length < NAMES_AT_ONCE) break;
	}
	return found.slice(0, limit);
}

async function readNames(
	db: Db,
	ownerId: number | undefined,
	beforeId: number | undefined,
): Promise<{ id: number; name: string }[]> {
	return db
		.selectFrom("programmes")
		.select(["programmes.id", "programmes.name"])
		.$if(ownerId !== undefined, (query) => query.where(isOwnedBy(ownerId ?? 0)))
		.$if(beforeId !== undefined, (query) => query.where("programmes.id", "<", beforeId ?? 0))
		.orderBy("programmes.id", "desc")
		.limit(NAMES_AT_ONCE)
		.execute();
}

function isOwnedBy(personId: number) {
	return sql<boolean>`programmes.id in (
		select programme_owners.programme_id from programme_owners where programme_owners.person_id = ${personId})`;
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
