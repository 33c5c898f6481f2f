// Reads a programme's events directly from the feed, as a listening client does.

import { equal } from "node:assert/strict";
import type { Cursor } from "#core/domain/cursor.ts";
import type { MoveStore } from "#core/store/queries/announced-moves.ts";
import { hasReached, startOfFeed } from "#core/store/queries/announced-moves.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { type FeedEvent, readFeed } from "#modules/feeds/use-cases/event-feed.ts";
import { START_MS } from "./clock.ts";
import { until } from "./until.ts";

export interface Listener {
	position: Cursor;
	events: FeedEvent[];
	/** Event, order, status and reason of each event that was read. */
	told: string[];
	/** Number of events in each batch. */
	batches: number[];
	/** Reads the next batch. Resolves to true if more events are left. */
	look(): Promise<boolean>;
	/** Reads all remaining events. On PostgreSQL a transaction of another suite may delay some of them for a moment. */
	catchUp(): Promise<void>;
}

export async function startListening(
	store: MoveStore,
	programme: Pick<Programme, "id" | "public_id">,
	{ from, ...change }: { from?: Cursor; testOnly?: boolean; nowMs?: number } = {},
): Promise<Listener> {
	const options = { testOnly: false, nowMs: START_MS, ...change };
	const listener: Listener = {
		position: from ?? (await startOfFeed(store)),
		events: [],
		told: [],
		batches: [],
		async look() {
			const { events, position, hasMore } = await readFeed(store, programme, listener.position, options);
			listener.position = position;
			listener.events.push(...events);
			listener.told.push(...events.map(tell));
			listener.batches.push(events.length);
			return hasMore;
		},
		async catchUp() {
			await until(async () => {
				const hasMore = await listener.look();
				const { at, id } = listener.position;
				return !hasMore && !(await hasReached(store, { at, id: id + 1 }));
			});
		},
	};
	return listener;
}

function tell({ event, body }: FeedEvent): string {
	const { orderId, status, reason, event: named } = JSON.parse(body);
	equal(named, event);
	return `${event.replace("conversion.", "")} ${orderId} ${status} ${reason}`;
}
