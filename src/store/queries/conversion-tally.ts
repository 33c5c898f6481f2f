// Counts and sums of conversions, of a programme or of all, a slice at a time: reading a million rows at once would keep
// everybody else waiting for seconds.

import { sql } from "kysely";
import type { Status } from "../../domain/conversion.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import { highHalf, joinHalves, lowHalf } from "./summed-amounts.ts";

export interface TallyGroup {
	status: Status;
	currency: string;
	/** Days since 1970-01-01, UTC: when it was recorded, or sold where it was imported. */
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
			sql<number>`told_at_ms / ${sql.lit(DAY_MS)}`.as("day"),
			eb.fn.countAll<number>().as("count"),
			eb.fn.max("id").as("last_id"),
			highHalf("basket_value").as("basket_high"),
			lowHalf("basket_value").as("basket_low"),
			highHalf("commission").as("commission_high"),
			lowHalf("commission").as("commission_low"),
			highHalf("network_fee").as("fee_high"),
			lowHalf("network_fee").as("fee_low"),
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
				basketMinor: joinHalves(row.basket_high, row.basket_low),
				commissionMinor: joinHalves(row.commission_high, row.commission_low),
				feeMinor: joinHalves(row.fee_high, row.fee_low),
			})),
		tests: rows.filter(({ test }) => test === 1).map(({ status, count }) => ({ status, count })),
		lastId: rows.length === 0 ? null : Math.max(...rows.map((row) => row.last_id)),
	};
}

function sliceOf(db: Db, { programmeId, afterId, limit }: SliceRequest) {
	const columns = ["id", "status", "test", "currency"] as const;
	// Years of history that were imported in an hour are shown where they happened.
	const toldAt = sql<number>`case when source = 'import' then occurred_at_ms else created_at_ms end`;
	const rows = db
		.selectFrom("conversions")
		.select([...columns, "basket_value", "commission", "network_fee", toldAt.as("told_at_ms")])
		.where("id", ">", afterId)
		.orderBy("id")
		.limit(limit);
	return programmeId === undefined ? rows : rows.where("programme_id", "=", programmeId);
}
