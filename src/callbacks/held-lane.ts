// One lane that this engine has leased: what it knows of it, and where and when the queue is looked at again for it.

import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { DeliveryInHand } from "../store/queue.ts";

/** A position in a lane's order. */
export interface Position {
	dueAtMs: number;
	id: number;
}

export interface HeldLane {
	/** The earliest moment at which something may be sent, as far as is known. */
	dueAtMs: number;
	/** All rows up to here are in hand, or gone, but for those of a late commit. */
	after: Position;
	/** Nothing in hand lies behind this. */
	furthest: Position;
	/** The last look did not read all that was due. */
	hasMore: boolean;
	/** Handed out and not yet stored as settled, with the number of the handout. */
	inHand: Map<number, { delivery: DeliveryInHand; handout: number }>;
	lookedAtMs: number;
	fromFrontAtMs: number;
	/** When it last had something to send. */
	usedAtMs: number;
	/** Since the first look: the number of a transaction that began after it, once there was one. */
	shut: { fence: number | null } | null;
	/** Another engine should have it: nothing more is handed out. */
	isLeaving: boolean;
}

/** How often each lane is looked at for what nobody announced. */
const POLL_MS = 5 * SECOND_MS;
/**
 * A sale is due from the moment it is made, and seen when it is committed, perhaps by a machine whose clock is behind.
 * What comes so much later than others of its time is still found in order; beyond that, by a look from the front.
 */
const LATE_COMMIT_MS = 10 * SECOND_MS;
/** How often a lane is read from the front: what was removed since is in the way until PostgreSQL has cleaned up. */
const FROM_FRONT_MS = MINUTE_MS;
export const FRONT: Position = { dueAtMs: -1, id: 0 };
export const MAX_ID = Number.MAX_SAFE_INTEGER;

export function newLane(nowMs: number): HeldLane {
	return {
		dueAtMs: nowMs,
		after: FRONT,
		furthest: FRONT,
		hasMore: true,
		inHand: new Map(),
		lookedAtMs: nowMs,
		fromFrontAtMs: nowMs,
		usedAtMs: nowMs,
		shut: null,
		isLeaving: false,
	};
}

export function nextLookAtMs({ dueAtMs, lookedAtMs, isLeaving }: HeldLane, nowMs: number): number {
	if (isLeaving) return Number.POSITIVE_INFINITY;
	// Looked at in the future: the clock was set back, so it is not known how long ago that was.
	return lookedAtMs > nowMs ? nowMs : Math.min(dueAtMs, lookedAtMs + POLL_MS);
}

/**
 * Where the next look begins. A lane with more due than was read goes on where it ended: there a late commit waits like
 * everything else, and what is in hand is not read again with every look. Once all is read, it is looked for.
 */
export function readAfter({ after, hasMore, lookedAtMs }: HeldLane): Position {
	const latest: Position = { dueAtMs: lookedAtMs - LATE_COMMIT_MS, id: MAX_ID };
	return hasMore || isAfter(latest, after) ? after : latest;
}

/** What is in hand would be read again. None, and no walk over it, while a lane goes on where it ended. */
export function countInTheWay({ furthest, inHand }: HeldLane, after: Position): number {
	let inTheWay = 0;
	if (!isAfter(furthest, after)) return inTheWay;
	for (const { delivery } of inHand.values()) if (isAfter(delivery, after)) inTheWay++;
	return inTheWay;
}

/** In the future: the clock was set back, and what is due by it may lie before what was read. */
export function isFrontDue({ fromFrontAtMs }: HeldLane, nowMs: number): boolean {
	return fromFrontAtMs > nowMs || nowMs - fromFrontAtMs >= FROM_FRONT_MS;
}

export function isAfter(a: Position, b: Position): boolean {
	return a.dueAtMs > b.dueAtMs || (a.dueAtMs === b.dueAtMs && a.id > b.id);
}
