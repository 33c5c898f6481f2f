// The rows of a job of many decisions, in the order of its file.

import { type Insertable, type Selectable, sql } from "kysely";
import type { Db } from "../store.ts";
import type { BulkRowsTable, BulkVerdict } from "../tables/bulk.ts";
import { highHalf, joinHalves, lowHalf } from "./summed-amounts.ts";
import { valueList } from "./value-list.ts";

export type BulkRow = Selectable<BulkRowsTable>;
export type NewBulkRow = Insertable<BulkRowsTable>;

export type VerdictCounts = Readonly<Record<BulkVerdict, number>>;

export async function insertRows(db: Db, rows: readonly NewBulkRow[]): Promise<void> {
	if (rows.length > 0) await db.insertInto("bulk_rows").values(rows).execute();
}

export interface RowsQuery {
	jobId: number;
	afterSeq: number;
	limit: number;
	/** What it did where it has been applied, what it would do otherwise. */
	verdict?: BulkVerdict | undefined;
}

export async function listRows(db: Db, rows: RowsQuery): Promise<BulkRow[]> {
	let query = db
		.selectFrom("bulk_rows")
		.selectAll()
		.where("job_id", "=", rows.jobId)
		.where("seq", ">", rows.afterSeq);
	if (rows.verdict !== undefined) {
		query = query.where(sql<boolean>`coalesce(outcome, verdict) = ${rows.verdict}`);
	}
	return query.orderBy("seq").limit(rows.limit).execute();
}

/** Reads all rows of the job, at most 40,000. */
export async function countVerdicts(db: Db, jobId: number): Promise<VerdictCounts> {
	const rows = await db
		.selectFrom("bulk_rows")
		.select((eb) => [
			sql<BulkVerdict | null>`coalesce(outcome, verdict)`.as("verdict"),
			eb.fn.countAll<number>().as("rows"),
		])
		.where("job_id", "=", jobId)
		.groupBy(sql`coalesce(outcome, verdict)`)
		.execute();
	const counts = { change: 0, already: 0, refused: 0, unknown: 0, malformed: 0, left: 0 };
	for (const { verdict, rows: count } of rows) if (verdict !== null) counts[verdict] = count;
	return counts;
}

/** What rows that change something come to. */
export interface ChangeSum {
	decision: string;
	currency: string;
	/** How many, and how many of them are tests. */
	rows: number;
	tests: number;
	/** Without tests, which stay out of all totals. */
	basketMinor: bigint;
	commissionMinor: bigint;
}

/** By decision and currency. Reads all rows of the job, as `countVerdicts` does. */
export async function sumChanges(db: Db, jobId: number): Promise<ChangeSum[]> {
	const { rows } = await sql<SummedRow>`select decision, currency, count(*) as "rows",
			count(case when test = 1 then 1 end) as "tests",
			${highHalf("basket_value", LIVE)} as "basketHigh", ${lowHalf("basket_value", LIVE)} as "basketLow",
			${highHalf("commission", LIVE)} as "commissionHigh", ${lowHalf("commission", LIVE)} as "commissionLow"
		from bulk_rows where job_id = ${jobId} and coalesce(outcome, verdict) = 'change' and currency is not null
		group by decision, currency order by decision, currency`.execute(db);
	return rows.map((row) => ({
		decision: row.decision,
		currency: row.currency,
		rows: row.rows,
		tests: row.tests,
		basketMinor: joinHalves(row.basketHigh, row.basketLow),
		commissionMinor: joinHalves(row.commissionHigh, row.commissionLow),
	}));
}

/** No test. */
const LIVE = sql`test = 0`;

interface SummedRow {
	decision: string;
	currency: string;
	rows: number;
	tests: number;
	basketHigh: number;
	basketLow: number;
	commissionHigh: number;
	commissionLow: number;
}

export interface JudgedRow {
	seq: number;
	verdict: BulkVerdict;
	detail: string | null;
	conversion: string | null;
	/** The order that the conversion turned out to be, where the line only named the conversion. */
	order?: { order_id: string; event_type: string };
	/** Where it would change something. */
	money?: Pick<BulkRow, "basket_value" | "commission" | "currency" | "test">;
}

/** `column` says whether this is what the rows would do or what they did. */
export async function judgeRows(
	db: Db,
	jobId: number,
	column: "verdict" | "outcome",
	rows: readonly JudgedRow[],
): Promise<void> {
	if (rows.length === 0) return;
	const columns = {
		seq: "integer",
		verdict: "text",
		detail: "text",
		conversion: "text",
		order_id: "text",
		event_type: "text",
		basket_value: "text",
		commission: "text",
		currency: "text",
		test: "integer",
	} as const;
	const list = rows.map((row) => ({
		...row,
		order_id: row.order?.order_id ?? null,
		event_type: row.order?.event_type ?? null,
		basket_value: row.money?.basket_value ?? null,
		commission: row.money?.commission ?? null,
		currency: row.money?.currency ?? null,
		test: row.money?.test ?? null,
	}));
	await sql`with ${valueList("judged", columns, list)}
		update bulk_rows set ${sql.id(column)} = judged.verdict, detail = judged.detail,
			conversion = coalesce(judged.conversion, bulk_rows.conversion),
			order_id = coalesce(judged.order_id, bulk_rows.order_id),
			event_type = coalesce(judged.event_type, bulk_rows.event_type),
			basket_value = coalesce(judged.basket_value, bulk_rows.basket_value),
			commission = coalesce(judged.commission, bulk_rows.commission),
			currency = coalesce(judged.currency, bulk_rows.currency), test = coalesce(judged.test, bulk_rows.test)
		from judged where bulk_rows.job_id = ${jobId} and bulk_rows.seq = judged.seq`.execute(db);
}

/** The conversions behind `after` that several rows are about, in the order of their ids. */
export async function listRepeatedConversions(
	db: Db,
	jobId: number,
	after: string,
	limit: number,
): Promise<string[]> {
	const rows = await db
		.selectFrom("bulk_rows")
		.select("conversion")
		.where("job_id", "=", jobId)
		.where("conversion", ">", after)
		.groupBy("conversion")
		.having(sql<boolean>`count(*) > 1`)
		.orderBy("conversion")
		.limit(limit)
		.execute();
	return rows.flatMap(({ conversion }) => conversion ?? []);
}

export type DecidingRow = Pick<BulkRow, "seq" | "line" | "conversion" | "decision" | "reason" | "verdict">;

/** Those that ask for anything, in the order of the file. */
export async function listDecidingRows(
	db: Db,
	jobId: number,
	conversions: readonly string[],
): Promise<DecidingRow[]> {
	return db
		.selectFrom("bulk_rows")
		.select(["seq", "line", "conversion", "decision", "reason", "verdict"])
		.where("job_id", "=", jobId)
		.where("conversion", "in", conversions)
		.where("decision", "!=", "")
		.orderBy("seq")
		.execute();
}
