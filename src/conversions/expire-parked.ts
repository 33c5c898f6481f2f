// Parked pixel conversions that nobody confirmed in time expire. Never on the wire: no event. They are kept for the
// retention time, and a postback that comes late records the order as a new sale.

import { hasWindowEnded, insertMoves, updateWindowEnded } from "../store/conversions.ts";
import type { ConversionsDeps } from "./deps.ts";

const PAGE_ROWS = 500;

export async function expireParked(
	{ store, clock }: ConversionsDeps,
	isStopping: () => boolean,
): Promise<number> {
	let expired = 0;
	while (!isStopping() && (await hasWindowEnded(store.db, "PARKED", clock.nowMs()))) {
		const nowMs = clock.nowMs();
		const count = await store.transact(async (trx) => {
			const rows = await updateWindowEnded(trx, {
				from: "PARKED",
				endedBeforeMs: nowMs,
				limit: PAGE_ROWS,
				change: { status: "EXPIRED", window_ends_at_ms: nowMs, updated_at_ms: nowMs },
			});
			await insertMoves(
				trx,
				rows.map(({ id }) => ({ conversion_id: id, move: "expire", to_status: "EXPIRED", at_ms: nowMs })),
			);
			return rows.length;
		});
		expired += count;
		if (count < PAGE_ROWS) break;
		await clock.yieldLoop();
	}
	return expired;
}
