// What a partner earned: counted in the background a slice at a time and kept, as a programme's totals are
// (conversions/tally).

import { type CountDeps, type KeptCounts, keepCounts } from "../conversions/tally.ts";
import type { Status } from "../domain/conversion.ts";
import { minorUnits } from "../domain/money.ts";
import { utcDay } from "../domain/time.ts";
import { walkCredited } from "../store/queries/credited.ts";
import { walkAll } from "../store/queries/list-page.ts";
import { listPartnershipsOfPartner } from "../store/queries/partners.ts";
import type { Store } from "../store/store.ts";

/** Of one programme and currency, by the month (UTC) of the sale: "2026-03". */
export interface EarningsGroup {
	partnership: number;
	programme: string;
	month: string;
	currency: string;
	status: Status;
	count: number;
	/** In minor units of the currency. */
	commissionMinor: bigint;
}

export interface Earnings {
	countedAtMs: number;
	groups: readonly EarningsGroup[];
}

/** Some milliseconds of SQLite: others are served in between. */
const SLICE_ROWS = 500;

/** By the number of the partner. */
export function createEarnings(deps: CountDeps & { store: Store }): KeptCounts<number, Earnings> {
	const { clock, store } = deps;
	return keepCounts(deps, async (partnerId: number, isStopping) => {
		const countedAtMs = clock.nowMs();
		const partnerships = await listPartnershipsOfPartner(store.db, partnerId);
		const groups = new Map<string, EarningsGroup>();
		for await (const { rows } of walkAll(await walkCredited(store.db, { partnerships }), SLICE_ROWS)) {
			if (isStopping()) return null;
			for (const {
				partnership_id: partnership,
				programme_name: programme,
				status,
				currency,
				...row
			} of rows) {
				const month = utcDay(row.occurred_at_ms).slice(0, "2026-03".length);
				const of = { partnership, programme, month, currency, status };
				const key = Object.values(of).join(" ");
				const group = groups.get(key) ?? { ...of, count: 0, commissionMinor: 0n };
				group.count += 1;
				group.commissionMinor += minorUnits(row.commission);
				groups.set(key, group);
			}
			await clock.yieldLoop();
		}
		return { countedAtMs, groups: [...groups.values()] };
	});
}
