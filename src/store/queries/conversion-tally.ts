// Counts and sums of conversions of one programme or of all, in slices. One statement over a million rows would delay all
// other reads for seconds.

import { sql } from "kysely";
import type { Status } from "../../domain/conversion.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";

export interface TallyGroup {
	status: Status;
	currency: string;
	/** Day of recording, in days since 1970-01-01 (UTC). */
	day: number;
	count: number;
	/** Amounts in minor units of the currency. */
	basketMinor: bigint;
	commissionMinor: bigint;
	feeMinor: bigint;
}

export interface TallySlice {
	/** Sums without test conversions. */
	groups: TallyGroup[];
	/** Number of test conversions, which lists show. */
	tests: readonly { status: Status; count: number }[];
	/** Last id of the slice, or null if there were no more rows. */
	lastId: number | null;
}

export interface SliceRequest {
	/** All programmes by default, in the order of the primary key. */
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

// An amount has up to sixteen digits (domain/money.ts), so a sum may not fit into 64 bits. The upper and the lower digits
// are therefore added separately. Both sums are small enough for a JavaScript number.

const HALF = 100_000_000;

export function sumOf<Column extends "basket_value" | "commission" | "network_fee">(column: Column) {
	// Amounts always have the currency's number of decimals, so without the point they are minor units.
	const minor = sql`cast(replace(${sql.ref(column)}, '.', '') as bigint)`;
	return [
		sql<number>`cast(sum(${minor} / ${sql.lit(HALF)}) as bigint)`.as(`${column}_high`),
		sql<number>`cast(sum(${minor} % ${sql.lit(HALF)}) as bigint)`.as(`${column}_low`),
	] as const;
}

export function joinHalves(high: number, low: number): bigint {
	return BigInt(high) * BigInt(HALF) + BigInt(low);
}
