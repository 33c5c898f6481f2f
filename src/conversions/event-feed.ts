// A programme's events one after the other, for whoever listens. Read from the moves and not from the outbox:
// whoever has no Postback URL yet is owed nothing, but may listen. Nothing is written here.

import { announcedBy } from "../domain/conversion.ts";
import type { Cursor } from "../domain/cursor.ts";
import { bodySentAt, composeEvent } from "../domain/event.ts";
import type { EventName } from "../domain/event-name.ts";
import {
	findNewestMove,
	listMovesAfter,
	type MoveStore,
	type PassedMove,
} from "../store/queries/announced-moves.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { subjectOf } from "./owe.ts";

export interface FeedEvent {
	event: EventName;
	/** All 14 fields: what a callback sent at this moment would carry. */
	body: string;
	/** Where to go on behind it. */
	position: Cursor;
}

export interface FeedBatch {
	events: readonly FeedEvent[];
	position: Cursor;
	hasMore: boolean;
}

/** About 250 KB when all of them are the listener's own. */
const BATCH_ROWS = 500;
const BEFORE_ALL: Cursor = { at: 0, id: 0 };

/** From now on: what is under way at this moment, numbered but not committed, is still to come. */
export async function startOfFeed(store: MoveStore): Promise<Cursor> {
	const { at, id } = (await findNewestMove(store, "ended")) ?? BEFORE_ALL;
	return { at, id };
}

/** False for a position of another time: a database that was put back to an earlier state. */
export async function hasReached(store: MoveStore, { at, id }: Cursor): Promise<boolean> {
	const newest = (await findNewestMove(store, "all")) ?? BEFORE_ALL;
	return newest.at > at || (newest.at === at && newest.id >= id);
}

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
		// Status and reason are the move's own. What else has changed since was kept with the move.
		const subject = subjectOf({ ...row, status: row.to_status }, programme.public_id);
		const body = bodySentAt(row.announced_body ?? composeEvent(event, subject), nowMs);
		events.push({ event, body, position });
	}
	return { events, position, hasMore: rows.length === BATCH_ROWS };
}

/** As it was announced, whatever the shop's server said since. */
function isTest({ announced_body: kept, ...row }: PassedMove): boolean {
	return kept === null ? row.public_id !== null && row.test === 1 : JSON.parse(kept).test === true;
}
