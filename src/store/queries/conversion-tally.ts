// Counts and sums of conversions, of a programme or of all, a slice at a time: reading a million rows at once would keep
// everybody else waiting for seconds.

import { sql } from "kysely";
import type { Status } from "../../domain/conversion.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";

export interface TallyGroup {
	status: Status;
	currency: string;
	/** Days since 1970-01-01, UTC: when it was recorded here, as the list of conversions has it. */
	day: number;
	count: number;
	/** In minor units of the currency. */
	basketMinor: bigint;
	commissionMinor: bigint;
	feeMinor: bigint;
}

export interface TallySlice {
	/** Without test conversions, which stay out of totals. */
	groups: TallyGroup[];
	/** How many tests there are: a list shows them too. */
	tests: readonly { status: Status; count: number }[];
	/** Where the next slice begins; null when nothing was left. */
	lastId: number | null;
}

export interface SliceRequest {
	/** Left out: of all programmes, along the primary key. */
	programmeId?: number | undefined;
	afterId: number;
	limit: number;
}

export async function tallySlice(db: Db, request: SliceRequest): Promise<TallySlice> {
	const rows = await db
		.selectFrom(sliceOf(db, request).as("slice"))
		.select((eb) => [
			"status",
			"test",
			"currency",
			sql<number>`created_at_ms / ${sql.lit(DAY_MS)}`.as("day"),
			eb.fn.countAll<number>().as("count"),
			eb.fn.max("id").as("last_id"),
			...sumOf("basket_value"),
			...sumOf("commission"),
			...sumOf("network_fee"),
		])
		.groupBy(["status", "test", "currency", "day"])
		.execute();
	return {
		groups: rows
			.filter(({ test }) => test === 0)
			.map((row) => ({
				status: row.status,
				currency: row.currency,
				day: row.day,
				count: row.count,
				basketMinor: joinHalves(row.basket_value_high, row.basket_value_low),
				commissionMinor: joinHalves(row.commission_high, row.commission_low),
				feeMinor: joinHalves(row.network_fee_high, row.network_fee_low),
			})),
		tests: rows.filter(({ test }) => test === 1).map(({ status, count }) => ({ status, count })),
		lastId: rows.length === 0 ? null : Math.max(...rows.map((row) => row.last_id)),
	};
}

function sliceOf(db: Db, { programmeId, afterId, limit }: SliceRequest) {
	const columns = ["id", "status", "test", "currency", "created_at_ms"] as const;
	const rows = db
		.selectFrom("conversions")
		.select([...columns, "basket_value", "commission", "network_fee"])
		.where("id", ">", afterId)
		.orderBy("id")
		.limit(limit);
	return programmeId === undefined ? rows : rows.where("programme_id", "=", programmeId);
}

// An amount has up to sixteen digits (domain/money), so a sum may be more than 64 bits hold. Each is summed in two halves,
// which also keeps both below what a JavaScript number holds exactly.

const HALF = 100_000_000;

export function sumOf<Column extends "basket_value" | "commission" | "network_fee">(column: Column) {
	// Amounts have exactly the currency's digits: without the point they are minor units.
	const minor = sql`cast(replace(${sql.ref(column)}, '.', '') as bigint)`;
	return [
		sql<number>`cast(sum(${minor} / ${sql.lit(HALF)}) as bigint)`.as(`${column}_high`),
		sql<number>`cast(sum(${minor} % ${sql.lit(HALF)}) as bigint)`.as(`${column}_low`),
	] as const;
}

export function joinHalves(high: number, low: number): bigint {
	return BigInt(high) * BigInt(HALF) + BigInt(low);
}
