// Counts and sums of a programme's conversions, a slice at a time: reading a million rows at once would keep
// everybody else waiting for seconds.

import { sql } from "kysely";
import type { Status } from "../domain/conversion.ts";
import { DAY_MS } from "../domain/time.ts";
import type { Db } from "./store.ts";
import { highHalf, joinHalves, lowHalf } from "./summed-amounts.ts";

export interface TallyGroup {
	status: Status;
	/** Days since 1970-01-01, UTC. */
	day: number;
	count: number;
	/** In minor units of the programme's currency. */
	basketMinor: bigint;
	commissionMinor: bigint;
	feeMinor: bigint;
}

export interface TallySlice {
	/** Without test conversions, which stay out of totals. */
	groups: TallyGroup[];
	/** Where the next slice begins; null when nothing was left. */
	lastId: number | null;
}

export async function tallySlice(
	db: Db,
	programmeId: number,
	afterId: number,
	limit: number,
): Promise<TallySlice> {
	const rows = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("conversions")
				.select(["id", "status", "test", "created_at_ms", "basket_value", "commission", "network_fee"])
				.where("programme_id", "=", programmeId)
				.where("id", ">", afterId)
				.orderBy("id")
				.limit(limit)
				.as("slice"),
		)
		.select((eb) => [
			"status",
			"test",
			sql<number>`created_at_ms / ${sql.lit(DAY_MS)}`.as("day"),
			eb.fn.countAll<number>().as("count"),
			eb.fn.max("id").as("last_id"),
			highHalf("basket_value").as("basket_high"),
			lowHalf("basket_value").as("basket_low"),
			highHalf("commission").as("commission_high"),
			lowHalf("commission").as("commission_low"),
			highHalf("network_fee").as("fee_high"),
			lowHalf("network_fee").as("fee_low"),
		])
		.groupBy(["status", "test", "day"])
		.execute();
	return {
		groups: rows
			.filter(({ test }) => test === 0)
			.map((row) => ({
				status: row.status,
				day: row.day,
				count: row.count,
				basketMinor: joinHalves(row.basket_high, row.basket_low),
				commissionMinor: joinHalves(row.commission_high, row.commission_low),
				feeMinor: joinHalves(row.fee_high, row.fee_low),
			})),
		lastId: rows.length === 0 ? null : Math.max(...rows.map((row) => row.last_id)),
	};
}
