// Shops whose callbacks are failing now, for the network's staff: those with the most undelivered callbacks first.

import { sql } from "kysely";
import { isSerious } from "../../domain/notice.ts";
import type { Db } from "../store.ts";
import { MAX_COUNTED_UNDELIVERED } from "./delivery-health.ts";

export type FailingShop = Awaited<ReturnType<typeof readFailing>>[number];

/** Looked at, those that have been failing the longest; more fail together only when the fault is ours. */
const MAX_LOOKED_AT = 200;

export interface FailingShops {
	shops: readonly FailingShop[];
	/** How many were left out. */
	more: number;
}

export async function listFailingShops(db: Db, limit: number, nowMs: number): Promise<FailingShops> {
	const failing = await readFailing(db);
	const serious = failing.filter(
		(shop) =>
			shop.toldAtMs !== null ||
			isSerious(
				{ openedAtMs: shop.sinceMs, failedAttempts: shop.failedAttempts, failures: shop.failures },
				nowMs,
			),
	);
	const worstFirst = serious.sort((a, b) => undeliveredOf(b) - undeliveredOf(a) || a.sinceMs - b.sinceMs);
	return { shops: worstFirst.slice(0, limit), more: Math.max(0, worstFirst.length - limit) };
}

function undeliveredOf({ waiting, failed }: { waiting: number; failed: number }): number {
	return waiting + failed;
}

async function readFailing(db: Db) {
	const rows = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("notices")
				.selectAll()
				// As a literal: only then do both databases use the partial index.
				.where("kind", "=", sql.lit("callbacks_failing"))
				.where("ended_at_ms", "is", null)
				// All of them: what is open at one time is little, and is read along that index.
				.where("receiver_id", ">", 0)
				.orderBy("opened_at_ms")
				.limit(MAX_LOOKED_AT)
				.as("open_notices"),
		)
		.innerJoin("programmes", "programmes.id", "open_notices.receiver_id")
		.select((eb) => [
			"programmes.public_id as publicId",
			"programmes.name",
			"open_notices.opened_at_ms as sinceMs",
			"open_notices.told_at_ms as toldAtMs",
			"open_notices.failed_attempts as failedAttempts",
			"open_notices.failures",
			"open_notices.last_failed_at_ms",
			"open_notices.last_result",
			"open_notices.last_verdict",
			"open_notices.last_http_status",
			"open_notices.last_detail",
			eb
				.selectFrom((inner) =>
					inner
						.selectFrom("queue")
						.select("queue.id")
						.whereRef("queue.receiver_id", "=", "open_notices.receiver_id")
						.limit(sql.lit(MAX_COUNTED_UNDELIVERED))
						.as("waiting_few"),
				)
				.select((inner) => inner.fn.countAll<number>().as("few"))
				.as("waiting"),
			eb
				.selectFrom((inner) =>
					inner
						.selectFrom("deliveries")
						.select("deliveries.id")
						.whereRef("deliveries.receiver_id", "=", "open_notices.receiver_id")
						.where("deliveries.failed_at_ms", "is not", null)
						.limit(sql.lit(MAX_COUNTED_UNDELIVERED))
						.as("failed_few"),
				)
				.select((inner) => inner.fn.countAll<number>().as("few"))
				.as("failed"),
		])
		.where("programmes.endpoint_id", "is not", null)
		.execute();
	return rows.map((row) => ({ ...row, waiting: row.waiting ?? 0, failed: row.failed ?? 0 }));
}
