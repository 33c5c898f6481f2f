// A programme's events one after the other, for whoever listens. Read from the moves and not from the outbox:
// whoever has no Postback URL yet is owed nothing, but may listen. Nothing is written here.

import { announcedBy } from "../domain/conversion.ts";
import { bodySentAt, composeEvent } from "../domain/event.ts";
import type { EventName } from "../domain/event-name.ts";
import {
	dateGaps,
	dropEnded,
	type EventPosition,
	hasUndatedGaps,
	MAX_GAPS,
	passRow,
	undateGaps,
} from "../domain/event-position.ts";
import {
	beginTransaction,
	listMovesBehind,
	newestMoveId,
	type OwnMove,
	readEndedTransactions,
} from "../store/announced-moves.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db, Store } from "../store/store.ts";
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
/** The newest: most are numbers rolled back long ago, and what comes while they are looked for needs room, too. */
const MOST_GAPS_AT_START = MAX_GAPS / 2;
/** Without gaps the database need not be asked. */
const NOTHING_ENDED = { oldest: 0, next: 0 };

/** From now on: what is under way at this moment, numbered but not committed, is still to come. */
export async function startOfFeed(db: Db): Promise<EventPosition> {
	const newest = await newestMoveId(db);
	let position: EventPosition = { high: Math.max(0, newest - PAGE_ROWS), gaps: [] };
	for (const { id } of await listMovesBehind(db, 0, position, PAGE_ROWS)) {
		const { high, gaps } = passRow(position, id, NOTHING_ENDED.oldest) ?? position;
		position = { high, gaps: gaps.slice(-MOST_GAPS_AT_START) };
	}
	return position;
}

/** False for a position of another time: a database that was put back to an earlier state. */
export async function hasReached(db: Db, { high }: EventPosition): Promise<boolean> {
	return (await newestMoveId(db)) >= high;
}

export async function readFeed(
	store: Pick<Store, "db" | "kind">,
	programme: Pick<Programme, "id" | "public_id">,
	from: EventPosition,
	{ testOnly, nowMs }: { testOnly: boolean; nowMs: number },
): Promise<FeedPage> {
	const { oldest, next } = from.gaps.length === 0 ? NOTHING_ENDED : await readEndedTransactions(store);
	const rows = await listMovesBehind(store.db, programme.id, from, PAGE_ROWS);
	const events: FeedEvent[] = [];
	let position = undateGaps(from, next);
	let seen = 0;
	for (const { id, own } of rows) {
		const passed = passRow(position, id, oldest);
		if (passed === undefined) break;
		position = passed;
		seen++;
		const event = own === null || (testOnly && !isTest(own)) ? null : announcedBy(own.move);
		if (own !== null && event !== null) {
			events.push({ event, body: bodyOf(event, own, programme.public_id, nowMs), position });
		}
	}
	const isAll = seen === rows.length && rows.length < PAGE_ROWS;
	if (isAll) position = dropEnded(position, Number.POSITIVE_INFINITY, oldest);
	// Stopped for want of room for gaps, but not at the first row: the next look drops those that have ended.
	const isStopped = seen > 0 && seen < rows.length;
	const page = { events, position, hasMore: seen === PAGE_ROWS || isStopped };
	return hasUndatedGaps(position) ? datePage(page, await beginTransaction(store)) : page;
}

function datePage({ events, position, hasMore }: FeedPage, newest: number): FeedPage {
	const dated = events.map((event) => ({ ...event, position: dateGaps(event.position, newest) }));
	return { events: dated, position: dateGaps(position, newest), hasMore };
}

/** A body that was kept is a pixel's report, which is never a test, whatever the shop's server said since. */
function isTest({ announcedBody, conversion }: OwnMove): boolean {
	return announcedBody === null && conversion.test === 1;
}

/**
 * As it was at the move: status and reason are the move's own. What else has changed since it was announced, by a
 * confirmation, was kept with the move.
 */
function bodyOf(
	event: EventName,
	{ toStatus, reason, conversion, announcedBody }: OwnMove,
	programId: string,
	sentAtMs: number,
): string {
	const subject = subjectOf({ ...conversion, status: toStatus, reason }, programId);
	return bodySentAt(announcedBody ?? composeEvent(event, subject), sentAtMs);
}
