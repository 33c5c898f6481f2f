// Lists programmes with the state of their callbacks and the number of conversions that wait for a decision.

import { type RawBuilder, sql } from "kysely";
import { foldText } from "../../domain/visible-text.ts";
import type { Db } from "../store.ts";
import { KINDS_PER_PROGRAMME } from "../tables/conversions.ts";
import { kindsOf } from "./conversion-buckets.ts";
import { countFound, endId, type ListPage, type PageRequest, readNewestFirst } from "./list-page.ts";

export interface ListedProgramme {
	id: number;
	publicId: string;
	name: string;
	currency: string;
	hasUrl: boolean;
	failingSinceMs: number | null;
	waiting: number;
	archivedAtMs: number | null;
}

/**
 * Maximum number of waiting conversions that are counted. Nobody needs a larger exact number, and counting it would
 * read every row.
 */
export const WAITING_COUNTED = 1_000;

/** SQL expressions for the list keys that conversions of the programme `p` have while they wait for a decision. */
const WAITING_KEYS = kindsOf({ status: "RECORDED", isTest: false }).map(
	(kind) => sql`p.id * ${sql.lit(KINDS_PER_PROGRAMME)} + ${sql.lit(kind)}`,
);

const NAMES_AT_ONCE = 1_000;
const ID_PREFIX = "prg_";

export interface ProgrammeFilter extends PageRequest {
	/** Person whose programmes are listed. By default all programmes are listed. */
	personId?: number | undefined;
	/** True to list the network's archived programmes. By default the others are listed. */
	isArchived?: boolean | undefined;
	/** Text to search for. It is a part of the name (compared by foldText) or a whole public id. */
	search?: string | undefined;
}

export async function listProgrammes(db: Db, filter: ProgrammeFilter): Promise<ListPage<ListedProgramme>> {
	return readNewestFirst(filter, (beforeId, limit) => readProgrammes(db, filter, beforeId, limit), {
		async count(limit) {
			const matching = await findMatching(db, filter, Number.MAX_SAFE_INTEGER, limit);
			if (Array.isArray(matching)) return matching.length;
			return countFound(db, sql`select 1 from programmes p where ${matching} limit ${limit}`);
		},
	});
}

/**
 * Returns the condition on the programmes `p`. If a name is searched for, the condition lists the ids that were
 * found.
 */
async function findMatching(
	db: Db,
	{ personId, isArchived = false, search }: ProgrammeFilter,
	beforeId: number,
	limit: number,
): Promise<RawBuilder<boolean> | readonly number[]> {
	// Archived programmes stay in the list of their shop's people, who may still need the data in them.
	const state = isArchived
		? sql<boolean>`p.archived_at_ms is not null`
		: sql<boolean>`p.archived_at_ms is null`;
	const theirs = personId === undefined ? state : isOf(personId);
	if (search === undefined) return theirs;
	if (!search.startsWith(ID_PREFIX)) return findByName(db, "programmes", theirs, search, beforeId, limit);
	return personId === undefined
		? sql<boolean>`p.public_id = ${search}`
		: sql<boolean>`${theirs} and p.public_id = ${search}`;
}

async function readProgrammes(
	db: Db,
	filter: ProgrammeFilter,
	beforeId: number,
	limit: number,
): Promise<ListedProgramme[]> {
	const matching = await findMatching(db, filter, beforeId, limit);
	if (Array.isArray(matching) && matching.length === 0) return [];
	const condition = Array.isArray(matching) ? sql`p.id in (${sql.join(matching)})` : matching;
	const { rows } = await sql<ListedProgramme>`
		select p.id, p.public_id as "publicId", p.name, p.currency, p.archived_at_ms as "archivedAtMs", r.endpoint_id is not null as "hasUrl",
			(select n.opened_at_ms from notices n where n.receiver_id = r.id and n.kind = 'callbacks_failing'
				and n.ended_at_ms is null and n.told_at_ms is not null) as "failingSinceMs",
			(select count(*) from (select 1 from conversions c where c.list_key in (${sql.join(WAITING_KEYS)})
				limit ${sql.lit(WAITING_COUNTED)}) few) as waiting
		from programmes p join receivers r on r.programme_id = p.id
		where p.id < ${beforeId} and ${condition} order by p.id desc limit ${limit}`.execute(db);
	return rows.map((row) => ({ ...row, hasUrl: Boolean(row.hasUrl) }));
}

/**
 * Finds ids by a part of the name. The function reads all names in the order of the primary key until the page is
 * full, which is fast enough because a network has thousands of programmes, not millions. The names are not compared
 * by the database, because SQLite lower-cases only ASCII letters and neither database folds accents as foldText does.
 */
export async function findByName(
	db: Db,
	/** Table that is searched. The condition `only` refers to it as `p`. */
	table: "programmes" | "partners",
	/** Additional condition on the rows, or null. */
	only: RawBuilder<boolean> | null,
	search: string,
	beforeId: number,
	limit: number,
): Promise<number[]> {
	const wanted = foldText(search);
	const found: number[] = [];
	let before = beforeId;
	while (found.length < limit) {
		const { rows: names } = await sql<{
			id: number;
			name: string;
		}>`select p.id, p.name from ${sql.table(table)} p
			where p.id < ${before} ${only === null ? sql`` : sql`and ${only}`} order by p.id desc limit ${NAMES_AT_ONCE}`.execute(
			db,
		);
		found.push(...names.filter(({ name }) => foldText(name).includes(wanted)).map(({ id }) => id));
		if (names.length < NAMES_AT_ONCE) break;
		before = endId(names.at(-1));
	}
	return found.slice(0, limit);
}

function isOf(personId: number) {
	return sql<boolean>`p.id in (select programme_id from programme_people where person_id = ${personId})`;
}

/** Returns whether the programme has any conversion, including tests. */
export async function hasConversions(db: Db, programmeId: number): Promise<boolean> {
	const row = await db
		.selectFrom("conversions")
		.select("id")
		.where("programme_id", "=", programmeId)
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}

/** Returns whether the programme has a conversion, other than tests, that is recorded or parked. */
export async function hasOpenConversion(db: Db, programmeId: number): Promise<boolean> {
	const kinds = (["RECORDED", "PARKED"] as const).flatMap((status) => kindsOf({ status, isTest: false }));
	const { rows } = await sql`select 1 from conversions
		where list_key in (${sql.join(kinds.map((kind) => programmeId * KINDS_PER_PROGRAMME + kind))})
		limit 1`.execute(db);
	return rows.length > 0;
}
