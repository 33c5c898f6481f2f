// Clicks are counted in memory and added to hourly counts once a second. A kill may lose a second of statistics, never a
// credit: the click id carries that.

import type { ClickKind } from "../domain/click.ts";
import { HOUR_MS, SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { addClicks, type ClickCount, type KnownLink } from "../store/queries/clicks.ts";
import type { Store } from "../store/store.ts";

export interface ClickCounts {
	add(link: Pick<KnownLink, "linkId">, kind: ClickKind): void;
	/** Stores what was counted: when the service stops. */
	flush(): Promise<void>;
}

const FLUSH_MS = SECOND_MS;
/** While the database is away counts gather; statistics of more links than this are given up. */
const MAX_WAITING = 50_000;
const ROWS_AT_ONCE = 1_000;

export function createClickCounts({
	store,
	clock,
	log,
}: {
	store: Pick<Store, "db">;
	clock: Clock;
	log: Log;
}): ClickCounts {
	/** By link: a few kinds of this hour each, and of the hours before while the database is away. */
	let waiting = new Map<number, ClickCount[]>();
	let isPlanned = false;
	let flushing: Promise<void> = Promise.resolve();

	function note(linkId: number, hour: number, kind: ClickKind, clicks: number): void {
		const counts = waiting.get(linkId);
		const known = counts?.find((count) => count.kind === kind && count.hour === hour);
		if (known !== undefined) known.clicks += clicks;
		else if (counts !== undefined) counts.push({ linkId, hour, kind, clicks });
		else if (waiting.size < MAX_WAITING) waiting.set(linkId, [{ linkId, hour, kind, clicks }]);
		if (isPlanned) return;
		isPlanned = true;
		clock.after(FLUSH_MS, () => {
			isPlanned = false;
			void flush();
		});
	}

	async function storeAll(): Promise<void> {
		const counts = [...waiting.values()].flat();
		waiting = new Map();
		for (let first = 0; first < counts.length; first += ROWS_AT_ONCE) {
			try {
				await addClicks(store.db, counts.slice(first, first + ROWS_AT_ONCE));
			} catch (error) {
				log.warn({ err: error }, "clicks could not be counted; tried again in a second");
				for (const count of counts.slice(first)) note(count.linkId, count.hour, count.kind, count.clicks);
				return;
			}
		}
	}

	function flush(): Promise<void> {
		flushing = flushing.then(storeAll);
		return flushing;
	}

	return {
		add: ({ linkId }, kind) => note(linkId, Math.floor(clock.nowMs() / HOUR_MS), kind, 1),
		flush,
	};
}
