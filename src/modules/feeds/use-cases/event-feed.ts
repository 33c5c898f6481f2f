// A programme's events in their order, for `ringback listen`. They are read from `moves` and not from `events`, because
// a programme without a Postback URL has no stored events but may listen. This file writes nothing.

import { subjectOf } from "#core/conversions/batch.ts";
import { announcedBy } from "#core/domain/conversion.ts";
import type { Cursor } from "#core/domain/cursor.ts";
import { bodySentAt, composeEvent, isTestEvent } from "#core/domain/event.ts";
import type { EventName } from "#core/domain/event-name.ts";
import { listMovesAfter, type MoveStore, type PassedMove } from "#core/store/queries/announced-moves.ts";
import type { Programme } from "#core/store/queries/programmes.ts";

export interface FeedEvent {
	event: EventName;
	/** The body that a callback would have if it were sent now, with all 14 fields. */
	body: string;
	/** Position in the feed after this event. */
	position: Cursor;
}

export interface FeedBatch {
	events: readonly FeedEvent[];
	position: Cursor;
	hasMore: boolean;
}

/** Number of moves that are read at a time, about 250 KB if all of them belong to the listener's programme. */
const BATCH_ROWS = 500;

export async function readFeed(
	store: MoveStore,
	programme: Pick<Programme, "id" | "public_id">,
	from: Cursor,
	{ testOnly, nowMs }: { testOnly: boolean; nowMs: number },
): Promise<FeedBatch> {
	const rows = await listMovesAfter(store, programme.id, from, BATCH_ROWS);
	const events: FeedEvent[] = [];
	let position = from;
	for (const row of rows) {
		position = { at: row.at, id: row.id };
		const event = announcedBy(row.move);
		if (row.public_id === null || event === null || (testOnly && !isTest(row))) continue;
		// The event has the status and reason of its move. If other fields of the conversion changed later, the announced
		// body was stored with the move.
		const subject = subjectOf({ ...row, status: row.to_status }, programme.public_id);
		const body = bodySentAt(event, row.announced_body ?? composeEvent(subject), nowMs);
		events.push({ event, body, position });
	}
	return { events, position, hasMore: rows.length === BATCH_ROWS };
}

/** Returns whether the event was announced as a test, whatever the shop's server reported later. */
function isTest({ announced_body: announcedBody, ...row }: PassedMove): boolean {
	if (announcedBody !== null) return isTestEvent(announcedBody);
	return row.public_id !== null && row.test === 1;
}
