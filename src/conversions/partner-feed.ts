// The events that a partner was told, in the order of the commits, for `ringback listen`. This file writes nothing.

import { partnerEventOf } from "../domain/conversion.ts";
import type { Cursor } from "../domain/cursor.ts";
import { isTestEvent } from "../domain/event.ts";
import type { EventName } from "../domain/event-name.ts";
import { REASSIGNED, readPartnerEvent } from "../domain/partner-event.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import {
	findNewestEventId,
	hasReached,
	listNewestTestEvents,
	listPartnerEventsAfter,
	listTestEventsAfter,
	type MoveStore,
	type PartnerMoveEvent,
	startOfFeed,
} from "../store/queries/announced-moves.ts";

/** Position in the feed. Test callbacks have no move, so they have a position of their own. */
export interface PartnerPosition {
	moves: Cursor;
	/** Id of the last test callback that was read. */
	testId: number;
}

export interface PartnerFeedEvent {
	event: EventName;
	/** The values of the event as they are stored (domain/partner-event.ts). */
	composed: string;
	/** Position in the feed after this event. */
	position: PartnerPosition;
}

export interface PartnerFeedBatch {
	events: readonly PartnerFeedEvent[];
	position: PartnerPosition;
	hasMore: boolean;
}

/** Number of moves, and of test callbacks, that are read at a time. */
const BATCH_ROWS = 500;

export interface ListeningPartner {
	partnerId: number;
	receiverId: ReceiverId;
}

/** Returns the position after the newest event. */
export async function startOfPartnerFeed(
	store: MoveStore,
	{ receiverId }: ListeningPartner,
): Promise<PartnerPosition> {
	return { moves: await startOfFeed(store), testId: await newestTestId(store, receiverId) };
}

/** Returns false if the position is ahead of the database, as after a restore of an older state. */
export async function hasReachedPartner(
	store: MoveStore,
	{ moves, testId }: PartnerPosition,
): Promise<boolean> {
	// The test callback of the position may have been removed since, so its id is compared with those of all events.
	return (await hasReached(store, moves)) && (await findNewestEventId(store.db)) >= testId;
}

/** Returns the id of the newest test callback, or 0 if there is none. */
async function newestTestId({ db }: MoveStore, receiverId: ReceiverId): Promise<number> {
	const [newest] = await listNewestTestEvents(db, receiverId, 1);
	return newest?.id ?? 0;
}

export async function readPartnerFeed(
	store: MoveStore,
	partner: ListeningPartner,
	from: PartnerPosition,
	testOnly: boolean,
): Promise<PartnerFeedBatch> {
	const tests = await listTestEventsAfter(store.db, partner.receiverId, from.testId, BATCH_ROWS);
	const events: PartnerFeedEvent[] = tests.map(({ id, name, body }) => ({
		event: name,
		composed: body,
		position: { ...from, testId: id },
	}));
	let position = events.at(-1)?.position ?? from;
	const rows = await listPartnerEventsAfter(store, partner.receiverId, from.moves, BATCH_ROWS);
	const passedMoves = new Set<number>();
	for (const row of rows) {
		passedMoves.add(row.id);
		position = { ...position, moves: { at: row.at, id: row.id } };
		if (row.eventId === null || !isAnnouncedBy(row, partner.partnerId)) continue;
		if (testOnly && !isTestEvent(row.body)) continue;
		events.push({ event: row.name, composed: row.body, position });
	}
	const hasMore = passedMoves.size === BATCH_ROWS || tests.length === BATCH_ROWS;
	return { events, position, hasMore };
}

/**
 * Returns whether the move announced this event to the partner. A sale that goes to another partner announces to the
 * former one that it was reversed. A later reversal concerns only the new partner, also in the same millisecond.
 */
function isAnnouncedBy(row: Exclude<PartnerMoveEvent, { eventId: null }>, partnerId: number): boolean {
	const { move, to_status: status, lost_partner_id: lostPartnerId, name, body } = row;
	const isReassigned = readPartnerEvent(name, body, 0).reason === REASSIGNED;
	if (lostPartnerId === partnerId) return isReassigned;
	return !isReassigned && partnerEventOf(move, status) === name;
}
