// How a programme's callbacks are doing: the newest answers for their speed, and what has waited longest.
// Bounded by the indexes it walks, so that a page costs the same with two million deliveries.

import type { Db } from "./store.ts";

/** Enough for a ninety-fifth percentile that does not jump, few enough for a page. */
const NEWEST_DELIVERIES = 500;
/** More than this many waiting at once is a mass event, where "more than" is all anybody needs to know. */
export const MAX_COUNTED_PENDING = 10_000;

/** How long the shop took to answer, of the newest deliveries' attempts; unsorted, without those unanswered. */
export async function newestAnswerTimes(db: Db, programmeId: number, sinceMs: number): Promise<number[]> {
	const rows = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("deliveries")
				.select("id")
				.where("programme_id", "=", programmeId)
				.orderBy("id", "desc")
				.limit(NEWEST_DELIVERIES)
				.as("newest"),
		)
		.innerJoin("attempts", "attempts.delivery_id", "newest.id")
		.select("attempts.took_ms as tookMs")
		.where("attempts.result", "=", "answered")
		.where("attempts.started_at_ms", ">=", sinceMs)
		.execute();
	return rows.flatMap(({ tookMs }) => tookMs ?? []);
}

/** How many wait, counted up to the limit, and when the oldest of them was made. */
export async function findOldestPending(
	db: Db,
	programmeId: number,
): Promise<{ count: number; oldestAtMs: number | null }> {
	const { count, oldestId } = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("queue")
				.select("id")
				.where("programme_id", "=", programmeId)
				.limit(MAX_COUNTED_PENDING)
				.as("waiting"),
		)
		.select((eb) => [eb.fn.countAll<number>().as("count"), eb.fn.min("waiting.id").as("oldestId")])
		.executeTakeFirstOrThrow();
	if (oldestId === null) return { count: 0, oldestAtMs: null };
	const oldest = await db
		.selectFrom("deliveries")
		.select("created_at_ms as createdAtMs")
		.where("id", "=", oldestId)
		.executeTakeFirst();
	return { count: Number(count), oldestAtMs: oldest?.createdAtMs ?? null };
}
