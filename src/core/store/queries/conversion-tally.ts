// Counts and sums the conversions of one programme or of all programmes, in slices. One statement over a million rows
// would delay all other reads for seconds.

import { sql } from "kysely";
import type { Status } from "../../domain/conversion.ts";
import type { Cursor } from "../../domain/cursor.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { OffsetPeriod } from "../../domain/zone-day.ts";
import type { Db } from "../store.ts";

export interface TallyGroup {
	status: Status;
	currency: string;
	/** Day of recording, as a number from `dayNumberIn` in domain/zone-day.ts. */
	day: number;
	count: number;
	basketMinor: bigint;
	commissionMinor: bigint;
	feeMinor: bigint;
}

export interface TallySlice {
	/** Counts and sums of the slice. Test conversions are not included. */
	groups: TallyGroup[];
	tests: readonly { status: Status; count: number }[];
	/** Position of the last row of the slice, or null if no row follows the slice. */
	last: Cursor | null;
}

export interface SliceRequest {
	/**
	 * Programme whose conversions are read, in the order of their sales. By default, all conversions are read in the
	 * order of their ids.
	 */
	programmeId?: number | undefined;
	/** Position after which the slice begins. In a slice that is sorted by id, `at` is the id, too. */
	after: Cursor;
	limit: number;
	/**
	 * Offsets of the time zone in which days are counted, the earliest first. A time before the first period uses the
	 * first offset, and a time after the last period uses the last. By default, days are counted in UTC.
	 */
	offsets?: readonly OffsetPeriod[];
}

/** Returns SQL for the number of the day on which a conversion was recorded. */
function dayOfRecording(offsets: readonly OffsetPeriod[]) {
	const [last, ...earlier] = offsets.toReversed();
	const offsetMs = earlier.reduce(
		(later, { beforeMs, offsetMs }) =>
			sql`case when created_at_ms < ${sql.lit(beforeMs)} then ${sql.lit(offsetMs)} else ${later} end`,
		sql`${sql.lit(last?.offsetMs ?? 0)}`,
	);
	return sql<number>`(created_at_ms + ${offsetMs}) / ${sql.lit(DAY_MS)}`;
}

export async function tallySlice(
	db: Db,
	{ programmeId, after, limit, offsets = [] }: SliceRequest,
): Promise<TallySlice> {
	const at = sql.ref<number>(programmeId === undefined ? "id" : "occurred_at_ms");
	// The condition on the single column repeats a part of the comparison of rows, because SQLite cannot use an index
	// for the latter.
	const following = db
		.selectFrom("conversions")
		.where(sql<boolean>`${at} >= ${after.at} and (${at}, id) > (${after.at}, ${after.id})`)
		.$if(programmeId !== undefined, (query) => query.where("programme_id", "=", Number(programmeId)));
	const last = await following
		.select([at.as("at"), "id"])
		.orderBy(at)
		.orderBy("id")
		.offset(limit - 1)
		.limit(1)
		.executeTakeFirst();
	const slice =
		last === undefined
			? following
			: following.where(sql<boolean>`${at} <= ${last.at} and (${at}, id) <= (${last.at}, ${last.id})`);
	const rows = await slice
		.select((eb) => [
			"status",
			"test",
			"currency",
			dayOfRecording(offsets).as("day"),
			eb.fn.countAll<number>().as("count"),
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
		last: last ?? null,
	};
}

// An amount has up to sixteen digits (domain/money.ts), so a sum may not fit into 64 bits. The upper and the lower digits
// are therefore added separately. Both sums are small enough for a JavaScript number.

const HALF = 100_000_000;

export function sumOf<Column extends "basket_value" | "commission" | "network_fee" | "amount" | "total">(
	column: Column,
) {
	// Every amount has exactly the number of decimals of its currency, so removing the decimal point gives minor units.
	const minor = sql`cast(replace(${sql.ref(column)}, '.', '') as bigint)`;
	return [
		sql<number>`cast(sum(${minor} / ${sql.lit(HALF)}) as bigint)`.as(`${column}_high`),
		sql<number>`cast(sum(${minor} % ${sql.lit(HALF)}) as bigint)`.as(`${column}_low`),
	] as const;
}

export function joinHalves(high: number, low: number): bigint {
	return BigInt(high) * BigInt(HALF) + BigInt(low);
}
