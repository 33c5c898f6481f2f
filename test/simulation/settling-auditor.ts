// Watches how results are stored. A result may change a delivery only if its queue row is still as it was read. The
// next attempt must be due exactly its delay after the end of the last one. A delivery that ended must not stay in the
// queue. The watch checks this at once, because a person may resend a failed delivery later, which would hide the
// wrong row.

import type { DatabaseSync } from "node:sqlite";
import type { Settlement } from "#core/store/queries/queue.ts";
import { demand } from "../support/broken.ts";
import type { WatchSettling } from "./process-store.ts";

/** Retry delays of contract section 8, written independently of the product. */
export const DELAYS_MS: readonly number[] = [60, 300, 1_800, 7_200, 21_600, 86_400].map(
	(seconds) => seconds * 1_000,
);

/** Throws unless a clean stop has removed the engine's row and released its slots. */
export function auditCleanStop(database: DatabaseSync, engineIds: ReadonlySet<number>): void {
	const rows = database
		.prepare(
			`select id as engine_id, 'its row' as what from engines
				union all select engine_id, 'slot ' || slot from slots where engine_id is not null`,
		)
		.all();
	const left = rows.filter((row) => engineIds.has(Number(row["engine_id"]))).map(({ what }) => what);
	demand(
		left.length === 0,
		"5 one engine owns a slot and stores its own results",
		() => `a clean stop left behind: ${left.join(", ")}`,
	);
}

export function createSettlingAuditor(
	database: DatabaseSync,
	attempt: (check: () => void) => void,
): WatchSettling {
	const findRow = database.prepare("select due_at_ms from queue where id = ?");

	function checkDueTime(settlement: Settlement): void {
		if (settlement.kind !== "retry") return;
		const { delivery, attempt: made } = settlement;
		const delayMs = DELAYS_MS[delivery.counted] ?? Number.POSITIVE_INFINITY;
		const wantedMs = made.startedAtMs + made.tookMs + delayMs;
		const dueAtMs = findRow.get(delivery.id)?.["due_at_ms"];
		demand(
			dueAtMs === wantedMs,
			"4 at most seven attempts, each at its time",
			() =>
				`delivery ${delivery.id} is due at ${dueAtMs} after attempt ${delivery.counted + 1}, not at ${wantedMs}`,
		);
	}

	function checkEnd({ kind, delivery }: Settlement): void {
		if (kind === "retry") return;
		demand(
			findRow.get(delivery.id) === undefined,
			"3 a delivery has one end or a due time",
			() => `delivery ${delivery.id} ended and is still in the queue`,
		);
	}

	return (settlements) => {
		const ours = new Set<number>();
		for (const { delivery } of settlements) {
			if (findRow.get(delivery.id)?.["due_at_ms"] === delivery.dueAtMs) ours.add(delivery.id);
		}
		return (settledIds) =>
			attempt(() => {
				const wrong = [...settledIds.symmetricDifference(ours)];
				demand(
					wrong.length === 0,
					"5 one engine owns a slot and stores its own results",
					() =>
						`results of deliveries ${wrong.join(", ")} were stored although they were not in progress, or not stored although they were`,
				);
				for (const settlement of settlements) {
					if (!settledIds.has(settlement.delivery.id)) continue;
					checkDueTime(settlement);
					checkEnd(settlement);
				}
			});
	};
}
