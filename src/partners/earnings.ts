// What a partner earned: counted in the background a month at a time and kept, as a programme's totals are
// (conversions/tally).

import { type CountDeps, type KeptCounts, keepCounts } from "../conversions/tally.ts";
import { dayEndMs, dayStartMs, monthDays } from "../domain/zone-day.ts";
import { findFirstSale, type PartnershipTotal, sumByPartnership } from "../store/queries/credits.ts";
import { listPartnerships } from "../store/queries/partners.ts";
import type { Store } from "../store/store.ts";

export interface Earnings {
	countedAtMs: number;
	/** By the month (UTC) of the sale: "2026-03". */
	totals: readonly (PartnershipTotal & { month: string })[];
}

/** By the number of the partner. */
export function createEarnings(deps: CountDeps & { store: Store }): KeptCounts<number, Earnings> {
	const { clock, store } = deps;
	return keepCounts(deps, async (partnerId: number, isStopping) => {
		const countedAtMs = clock.nowMs();
		const totals: Earnings["totals"][number][] = [];
		for (const { id } of await listPartnerships(store.db, "partner_id", [partnerId])) {
			const firstMs = await findFirstSale(store.db, id);
			// A shop's clock may be ahead, in the next month.
			for (let back = -1, fromMs = Infinity; firstMs !== undefined && firstMs < fromMs; back++) {
				if (isStopping()) return null;
				const { from, to } = monthDays(countedAtMs, "UTC", back);
				fromMs = dayStartMs(from, "UTC");
				const span = { fromMs, beforeMs: dayEndMs(to, "UTC"), partnershipIds: [id] };
				const month = from.slice(0, "2026-03".length);
				totals.push(...(await sumByPartnership(store.db, span)).map((total) => ({ ...total, month })));
				await clock.yieldLoop();
			}
		}
		return { countedAtMs, totals };
	});
}
