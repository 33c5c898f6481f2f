// How many attempts of a batch were answered 2xx, by programme and hour.

import { HOUR_MS } from "../domain/time.ts";
import type { CallbackCount } from "../store/callback-hours.ts";
import type { Settlement } from "../store/queue.ts";

export function countHours(settlements: readonly Settlement[]): CallbackCount[] {
	const counts = new Map<string, CallbackCount>();
	for (const settlement of settlements) {
		if (settlement.kind !== "finished" && settlement.kind !== "retry") continue;
		const { programmeId } = settlement.delivery;
		const hourMs = Math.floor(settlement.endedAtMs / HOUR_MS) * HOUR_MS;
		const name = `${programmeId} ${hourMs}`;
		const count = counts.get(name) ?? { programmeId, hourMs, delivered: 0, failed: 0 };
		if (settlement.verdict === "delivered") count.delivered++;
		else count.failed++;
		counts.set(name, count);
	}
	return [...counts.values()];
}
