// The ledger: what must be true of the rows of any database of ours, whoever wrote it and however it was restored. Each
// question is one statement over a range of ids, so that it sees one moment of a database that is written to, takes a
// fraction of a second on either database, and holds nothing in memory.

import { type RawBuilder, sql } from "kysely";
import { DECIDED_STATUSES, type LivedMove, moveRule } from "../../domain/conversion.ts";
import type { Db, Store } from "../store.ts";

/** A rule that some rows break. */
export interface BrokenRule {
	/** What is wrong with them, behind their number: "deliveries are pending and not in the queue". */
	problem: string;
	count: number;
	/** The numbers of the first few. */
	examples: readonly number[];
}

export interface LedgerReport {
	/** Rules that were looked at. */
	rules: number;
	broken: readonly BrokenRule[];
}

interface Rule {
	problem: string;
	/** The table and the column along which it is asked, which must be the first of an index. */
	table: string;
	key: string;
	/** `r` is the row. */
	from: string;
	/** What rows that break it are like. */
	where: string;
}

/** Some hundredths of a second each: PostgreSQL ends a statement of ours after 15 seconds. */
const IDS_AT_ONCE = 20_000;
const EXAMPLES = 5;

const ANNOUNCING = ["record", "approve", "reject", "reverse"] as const satisfies readonly LivedMove[];
const MOVES: readonly LivedMove[] = [...ANNOUNCING, "park", "confirm", "credit", "expire"];
const MOVE_OF_EVENT = `case r.name ${ANNOUNCING.map((move) => `when '${moveRule(move).announces}' then '${move}'`).join(" ")} end`;
const STATUS_OF_MOVE = `case r.move ${MOVES.map((move) => `when '${move}' then '${moveRule(move).to}'`).join(" ")} end`;
const IS_IMPORT = `(r.move = 'import' and r.to_status in (${DECIDED_STATUSES.map((status) => `'${status}'`).join(", ")}))`;

/** Invariants 1 to 3 and 5 of ARCHITECTURE.md, as far as rows can tell. */
export const LEDGER_RULES: readonly Rule[] = [
	{
		problem: "rows of the queue have no delivery",
		...along("queue"),
		where: "not exists (select 1 from deliveries d where d.id = r.id)",
	},
	{
		problem:
			"rows of the queue do not agree with their delivery: it has ended, or is of another run or attempt",
		...along("queue"),
		from: "queue r join deliveries d on d.id = r.id",
		where: "d.state <> 'pending' or d.run <> r.run or d.attempts <> r.seq",
	},
	{
		problem: "deliveries are pending and not in the queue: they would never be sent",
		...along("deliveries"),
		where: "r.state = 'pending' and not exists (select 1 from queue q where q.id = r.id)",
	},
	{
		problem: "deliveries have ended without a time, or have a time and have not ended",
		...along("deliveries"),
		where: "(r.state = 'pending') <> (r.finished_at_ms is null)",
	},
	{
		problem: "deliveries have no event",
		...along("deliveries"),
		where: "not exists (select 1 from events e where e.id = r.id)",
	},
	{
		problem: "events have no delivery: what they tell would never be sent",
		...along("events"),
		where: "not exists (select 1 from deliveries d where d.id = r.id)",
	},
	{
		problem: "events are of no conversion",
		...along("events"),
		where: "not exists (select 1 from conversions c where c.id = r.conversion_id)",
	},
	{
		problem: "events announce a move that their conversion never made",
		...along("events"),
		where: `not exists (select 1 from moves m where m.conversion_id = r.conversion_id and m.move = ${MOVE_OF_EVENT})`,
	},
	{
		problem: "conversions have another status than their moves lead to",
		...along("conversions"),
		where: `coalesce((select m.to_status from moves m where m.conversion_id = r.id
			order by m.conversion_id desc, m.id desc limit 1), '') <> r.status`,
	},
	{
		problem: "conversions are of no programme",
		...along("conversions"),
		where: "not exists (select 1 from programmes p where p.id = r.programme_id)",
	},
	{
		problem: "moves are of no conversion",
		...along("moves", "conversion_id"),
		where: "not exists (select 1 from conversions c where c.id = r.conversion_id)",
	},
	{
		problem: "moves lead to a status that they cannot lead to",
		...along("moves", "conversion_id"),
		where: `coalesce(${STATUS_OF_MOVE}, '') <> r.to_status and not ${IS_IMPORT}`,
	},
	{
		problem: "programmes have a Postback URL that is not on record",
		...along("programmes"),
		where: "r.endpoint_id is not null and not exists (select 1 from endpoints e where e.id = r.endpoint_id)",
	},
];

function along(table: string, key = "id"): Pick<Rule, "table" | "key" | "from"> {
	return { table, key, from: `${table} r` };
}

/** Also while a service works on it: no statement depends on what another has seen. */
export async function checkLedger({ db }: Pick<Store, "db">): Promise<LedgerReport> {
	const broken: BrokenRule[] = [];
	const ranges = new Map<string, IdRange>();
	for (const rule of LEDGER_RULES) {
		const column = `${rule.table}.${rule.key}`;
		const range = ranges.get(column) ?? (await findRange(db, rule));
		ranges.set(column, range);
		const found = await lookAlong(db, rule, range);
		if (found.count > 0) broken.push(found);
	}
	return { rules: LEDGER_RULES.length, broken };
}

interface IdRange {
	first: number;
	last: number;
}

async function findRange(db: Db, { table, key }: Rule): Promise<IdRange> {
	const column = sql.ref(key);
	// One for each end: both databases read both from the ends of the index, but not in one statement.
	const end = async (aggregate: RawBuilder<unknown>): Promise<number | null> => {
		const { rows } = await sql<{
			end: number | null;
		}>`select ${aggregate} as "end" from ${sql.table(table)}`.execute(db);
		return rows[0]?.end ?? null;
	};
	const first = await end(sql`min(${column})`);
	const last = await end(sql`max(${column})`);
	return { first: first ?? 0, last: last ?? -1 };
}

async function lookAlong(
	db: Db,
	{ problem, key, from, where }: Rule,
	{ first, last }: IdRange,
): Promise<BrokenRule> {
	let count = 0;
	const examples: number[] = [];
	for (let from_ = first; from_ <= last; from_ += IDS_AT_ONCE) {
		const to = Math.min(from_ + IDS_AT_ONCE - 1, last);
		const column = sql.ref(`r.${key}`);
		const { rows } = await sql<{ id: number }>`select ${column} as id from ${sql.raw(from)}
			where ${column} between ${from_} and ${to} and (${sql.raw(where)})`.execute(db);
		count += rows.length;
		for (const { id } of rows.slice(0, EXAMPLES - examples.length)) examples.push(id);
	}
	return { problem, count, examples };
}
