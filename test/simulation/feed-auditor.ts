// Compares the feeds of the shops with the events that were stored for them. A feed composes its events from the history, so
// it shows whether the history kept what was announced before a conversion changed.

import { bodySentAt } from "#core/domain/event.ts";
import { BEFORE_ALL } from "#core/store/queries/announced-moves.ts";
import type { Store } from "#core/store/store.ts";
import { readFeed } from "#modules/feeds/use-cases/event-feed.ts";
import { demand } from "../support/broken.ts";
import type { ProgrammeRecord } from "./programme-record.ts";

/** Throws unless each stored event of a shop is in its feed with the same body. */
export async function auditFeeds(
	store: Store,
	programmes: readonly ProgrammeRecord[],
	nowMs: number,
): Promise<void> {
	for (const { id, publicId, receiver_id } of programmes) {
		const inFeed = new Set<string>();
		let from = BEFORE_ALL;
		for (let hasMore = true; hasMore; ) {
			const read = await readFeed(store, { id, public_id: publicId }, from, { testOnly: false, nowMs });
			for (const { event, body } of read.events) inFeed.add(`${event} ${body}`);
			({ position: from, hasMore } = read);
		}
		const stored = await store.db
			.selectFrom("events")
			.select(["name", "body"])
			.where("receiver_id", "=", receiver_id)
			.where("conversion_id", "is not", null)
			.execute();
		for (const { name, body } of stored) {
			demand(
				inFeed.has(`${name} ${bodySentAt(name, body, nowMs)}`),
				"the body describes the event as it happened",
				() => `the feed of ${publicId} lacks ${body}`,
			);
		}
	}
}
