// The newest attempt of each of a few deliveries, for lists that say what came back last.

import type { Db } from "../store.ts";
import type { AttemptResult } from "../tables/deliveries.ts";

export type LastAttempt = Awaited<ReturnType<typeof listLastAttempts>>[number];

/** None of those that have not been tried. */
export async function listLastAttempts(db: Db, deliveryIds: readonly number[]) {
	if (deliveryIds.length === 0) return [];
	return (
		db
			.selectFrom("deliveries")
			// Attempts are numbered from one, and the delivery knows how many there are.
			.innerJoin("attempts", (join) =>
				join
					.onRef("attempts.delivery_id", "=", "deliveries.id")
					.onRef("attempts.seq", "=", "deliveries.attempts"),
			)
			.select([
				"attempts.delivery_id as deliveryId",
				"attempts.result",
				"attempts.http_status",
				"attempts.detail",
			])
			.where("deliveries.id", "in", deliveryIds)
			.where("attempts.result", "<>", "interrupted")
			.$narrowType<{ result: AttemptResult }>()
			.execute()
	);
}
