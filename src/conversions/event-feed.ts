// A programme's events one after the other, for whoever listens. Read from the moves and not from the outbox:
// whoever has no Postback URL yet is owed nothing, but may listen. Nothing is written here.

import { announcedBy } from "../domain/conversion.ts";
import { bodySentAt, composeEvent } from "../domain/event.ts";
import type { EventName } from "../domain/event-name.ts";
import { dropLapsedGaps, type EventPosition, MAX_GAPS, passRow } from "../domain/event-position.ts";
import { listMovesBehind, newestMoveId, type OwnMove } from "../store/announced-moves.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import { subjectOf } from "./owe.ts";

export interface FeedEvent {
	event: EventName;
	/** All 14 fields: what a callback sent at this moment would carry. */
	body: string;
	/** Where to go on behind it. */
	position: EventPosition;
}

export interface FeedPage {
	events: readonly FeedEvent[];
	position: EventPosition;
	hasMore: boolean;
}

/** About 250 KB when all of them are the listener's own. */
const PAGE_ROWS = 500;

/** From now on: what is under way at this moment, numbered but not committed, is still to come. */
export async function startOfFeed(db: Db, nowMs: number): Promise<EventPosition> {
	const newest = await newestMoveId(db);
	let position: EventPosition = { high: Math.max(0, newest - PAGE_ROWS), gaps: [] };
	for (const { id, atMs } of await listMovesBehind(db, 0, position, PAGE_ROWS)) {
		if (position.gaps.length >= MAX_GAPS) position = { ...position, gaps: position.gaps.slice(1) };
		position = dropLapsedGaps(passRow(position, id, atMs, nowMs) ?? position, nowMs);
	}
	return position;
}

/** False for a position of another time: a database that was put back to an earlier state. */
export async function hasReached(db: Db, { high }: EventPosition): Promise<boolean> {
	return (await newestMoveId(db)) >= high;
}

export async function readFeed(
	db: Db,
	programme: Pick<Programme, "id" | "public_id">,
	from: EventPosition,
	options: { testOnly: boolean; nowMs: number },
): Promise<FeedPage> {
	const { nowMs } = options;
	const rows = await listMovesBehind(db, programme.id, from, PAGE_ROWS);
	const events: FeedEvent[] = [];
	let position = from;
	let seen = 0;
	for (const { id, atMs, own } of rows) {
		if (position.gaps.length >= MAX_GAPS) position = dropLapsedGaps(position, nowMs);
		const passed = passRow(position, id, atMs, nowMs);
		if (passed === undefined) break;
		position = passed;
		seen++;
		const event =
			own === null || (options.testOnly && own.conversion.test === 0) ? null : announcedBy(own.move);
		if (own !== null && event !== null) {
			events.push({ event, body: bodyOf(event, own, programme.public_id, nowMs), position });
		}
	}
	const hasMore = seen === rows.length && rows.length === PAGE_ROWS;
	// Only after the look: what a gap held is looked for once more when it lapses.
	return { events, position: dropLapsedGaps(position, nowMs), hasMore };
}

/** As it was at the move: status and reason are the move's own, and nothing else changes once it was announced. */
function bodyOf(
	event: EventName,
	{ toStatus, reason, conversion }: OwnMove,
	programId: string,
	sentAtMs: number,
): string {
	const composed = composeEvent(event, subjectOf({ ...conversion, status: toStatus, reason }, programId));
	return bodySentAt(composed, sentAtMs);
}
