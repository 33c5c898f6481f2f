// Watches results being stored: only those whose claim is still the delivery's may change anything, and the next
// attempt is due exactly its delay after the end of the last.

import type { DatabaseSync } from "node:sqlite";
import type { Settlement } from "../../src/store/queue.ts";
import { demand } from "./broken.ts";
import type { WatchSettling } from "./process-store.ts";

/** Contract section 8, written down once more. */
export const DELAYS_MS: readonly number[] = [60, 300, 1_800, 7_200, 21_600, 86_400].map(
	(seconds) => seconds * 1_000,
);

/** A clean stop gives back what is held and stores what came in: it leaves no claim behind. */
export function auditCleanStop(database: DatabaseSync, claims: ReadonlySet<number>): void {
	const rows = database.prepare("select id, claim from queue where claim is not null").all();
	const left = rows.filter((row) => claims.has(Number(row["claim"]))).map(({ id }) => id);
	demand(
		left.length === 0,
		"5 one live claim, results of its own",
		() => `a clean stop left its claims on deliveries ${left.join(", ")}`,
	);
}

export function createSettlingAuditor(
	database: DatabaseSync,
	attempt: (check: () => void) => void,
): WatchSettling {
	const findRow = database.prepare("select claim, due_at_ms from queue where id = ?");

	function checkDueTime(settlement: Settlement): void {
		if (settlement.kind !== "retry") return;
		const { delivery, attempt: made } = settlement;
		const delayMs = DELAYS_MS[delivery.counted] ?? Number.POSITIVE_INFINITY;
		const wantedMs = made.startedAtMs + made.tookMs + delayMs;
		const dueAtMs = findRow.get(delivery.id)?.["due_at_ms"];
		demand(
			dueAtMs === wantedMs,
			"4 seven attempts at their time",
			() =>
				`delivery ${delivery.id} is due at ${dueAtMs} after attempt ${delivery.counted + 1}, not at ${wantedMs}`,
		);
	}

	return (settlements) => {
		const ours = new Set<number>();
		for (const { delivery } of settlements) {
			if (findRow.get(delivery.id)?.["claim"] === delivery.claim) ours.add(delivery.id);
		}
		return (settledIds) =>
			attempt(() => {
				const wrong = [...settledIds.symmetricDifference(ours)];
				demand(
					wrong.length === 0,
					"5 one live claim, results of its own",
					() =>
						`results of deliveries ${wrong.join(", ")} were stored for another's claim, or not for their own`,
				);
				for (const settlement of settlements) {
					if (settledIds.has(settlement.delivery.id)) checkDueTime(settlement);
				}
			});
	};
}
