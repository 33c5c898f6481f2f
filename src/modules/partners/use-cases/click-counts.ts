// Counts clicks in memory, and adds them to the counts by quarter of an hour in the database once a second. If the process
// is killed, a second of statistics is lost. No partner loses a credit, because the click ID itself carries
// the credit.

import { QUARTER_MS, SECOND_MS } from "#core/domain/time.ts";
import type { Clock, Log } from "#core/ports.ts";
import type { Store } from "#core/store/store.ts";
import { createSingleFlight } from "../../../concurrency/single-flight.ts";
import type { ClickKind } from "../domain/click.ts";
import { addClicks, type ClickCount, type KnownLink } from "../store/clicks.ts";

export interface ClickCounts {
	add(link: Pick<KnownLink, "linkId">, kind: ClickKind): void;
	/** Stores all clicks that were counted so far. It is called when the service stops. */
	flush(): Promise<void>;
}

const FLUSH_MS = SECOND_MS;
/** Maximum number of links with counts that are not stored yet. Clicks on further links are not counted. */
const MAX_LINKS = 50_000;
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
	/**
	 * Counts that are not stored yet, by link, with one entry for each kind of click and quarter. There are
	 * entries for several quarters only if the database is unreachable.
	 */
	let unstored = new Map<number, ClickCount[]>();
	/** Cancels the timer that stores the counts, or null if none runs. */
	let cancelTimer: (() => void) | null = null;
	const storing = createSingleFlight({
		run: storeAll,
		onError: (error) => log.error({ err: error }, "clicks could not be counted"),
	});

	function count(linkId: number, quarter: number, kind: ClickKind, clicks: number): void {
		const counts = unstored.get(linkId);
		const existing = counts?.find((one) => one.kind === kind && one.quarter === quarter);
		if (existing !== undefined) existing.clicks += clicks;
		else if (counts !== undefined) counts.push({ linkId, quarter, kind, clicks });
		else if (unstored.size < MAX_LINKS) unstored.set(linkId, [{ linkId, quarter, kind, clicks }]);
		cancelTimer ??= clock.after(FLUSH_MS, () => {
			cancelTimer = null;
			storing.request();
		});
	}

	async function storeAll(): Promise<void> {
		const counts = [...unstored.values()].flat();
		unstored = new Map();
		for (let first = 0; first < counts.length; first += ROWS_AT_ONCE) {
			try {
				await addClicks(store.db, counts.slice(first, first + ROWS_AT_ONCE));
			} catch (error) {
				log.warn({ err: error }, "clicks could not be stored; trying again in a second");
				for (const { linkId, quarter, kind, clicks } of counts.slice(first))
					count(linkId, quarter, kind, clicks);
				return;
			}
		}
	}

	return {
		add: ({ linkId }, kind) => count(linkId, Math.floor(clock.nowMs() / QUARTER_MS), kind, 1),
		flush() {
			cancelTimer?.();
			cancelTimer = null;
			storing.request();
			return storing.whenIdle();
		},
	};
}
