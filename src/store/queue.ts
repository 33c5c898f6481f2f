// The hot path's shapes. An engine's lease is its row in `engines`; the lanes that it has leased name it, and what it
// has in its hands stands in `handouts`. All that it writes begins with `beginPass`, which is the fence: without the
// row somebody else has taken over, and nothing may be written. The two drivers write it in their own SQL, because
// here it pays.
//
//   lane free ──due: lease──▶ open ──idle: shut (the first look)──▶ shut ──letGo (the second look)──▶ free, or gone
//                             open ◀──something is due after all── shut
//   open ──another engine should have it: passOn──▶ free
//   any ──its engine's lease lapses: takeOver──▶ free and due; what was in hand is interrupted

import type { EventName } from "../domain/event-name.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Verdict } from "../domain/verdict.ts";
import type { Db } from "./schema.ts";
import type { AttemptResult } from "./tables/deliveries.ts";

/** How long an engine may be silent before another takes over. */
export const LEASE_MS = 30 * SECOND_MS;

/** The due time of a lane that has nothing in the queue. */
export const NEVER_MS: number = Number.MAX_SAFE_INTEGER;

/** What a settlement needs to know of the delivery that it ends. */
export interface DeliveryInHand {
	id: number;
	receiverId: number;
	programmeId: number;
	/** As it was handed out: with the id, this is what is in hand. Every settlement changes it or removes the row. */
	dueAtMs: number;
	run: number;
	/** Counted attempts of this run, before this one. */
	counted: number;
	/** The number of the last row in `attempts`, before this one's. */
	seq: number;
}

/** A row of the queue that is due, with what is needed to send it. */
export interface DueDelivery extends DeliveryInHand {
	endpointEpoch: number;
	eventName: EventName;
	eventBody: string;
}

/** Where a receiver's callbacks go and how they are signed. */
export interface CallbackTarget {
	receiverId: number;
	endpointId: number | null;
	endpointEpoch: number;
	url: string | null;
	secretId: number | null;
	sealedSecret: string | null;
	/** A notice of failing callbacks is open: the next success ends it. */
	isFailing: boolean;
}

/** The columns are CallbackTarget's. Both databases read it; each adds which receivers. */
export const TARGET_SELECT = `select p.id as "receiverId", p.endpoint_id as "endpointId",
	p.endpoint_epoch as "endpointEpoch", e.url, s.id as "secretId", s.sealed as "sealedSecret",
	exists (select 1 from notices n where n.receiver_id = p.id and n.kind = 'callbacks_failing'
		and n.ended_at_ms is null) as "isFailing"
	from programmes p
	left join endpoints e on e.id = p.endpoint_id
	left join signing_secrets s on s.receiver_id = p.id and s.activated_at_ms is not null
		and s.replaced_at_ms is null`;

export interface AttemptRecord {
	result: AttemptResult;
	httpStatus: number | null;
	detail: string | null;
	startedAtMs: number;
	tookMs: number;
	lookUpMs: number | null;
	connectMs: number | null;
	tlsMs: number | null;
	answerMs: number | null;
	endpointId: number;
	nonce: string;
	signature: string;
	/** What is kept of an answer that is not 2xx (domain/kept-answer). */
	answer: string | null;
}

/** How a delivery leaves an engine's hands. */
export type Settlement = { delivery: DeliveryInHand } & (
	| {
			kind: "finished";
			state: "delivered" | "failed";
			verdict: Verdict;
			attempt: AttemptRecord;
			endedAtMs: number;
	  }
	| { kind: "retry"; dueAtMs: number; verdict: Verdict; attempt: AttemptRecord; endedAtMs: number }
	/** Handed out, not sent, and not counted. */
	| { kind: "released"; dueAtMs: number }
	/** The URL it was made for has been removed. */
	| { kind: "cancelled"; endedAtMs: number }
);

/** The due time a settlement leaves behind: never the one that was handed out, or it would still look in hand. */
export function newDueAtMs({ delivery, dueAtMs }: { delivery: DeliveryInHand; dueAtMs: number }): number {
	return dueAtMs === delivery.dueAtMs ? dueAtMs + 1 : dueAtMs;
}

/** Without a renewal the row is only locked: a new version of it for every pass would pile up behind a long snapshot. */
export interface Renewal {
	goodUntilMs: number;
	/** Lanes it holds, for the others to see who has more than a fair share. */
	held: number;
}

export interface PassBegun {
	/** The number of this pass's transaction, and the lowest of one that may still be open. */
	transaction: number;
	endedBelow: number;
}

/** The other engines, as they last said. */
export interface Others {
	/** Those whose lease is good. */
	count: number;
	held: number;
	/** One has let its lease lapse: its lanes have to be taken over. */
	hasLapsed: boolean;
	/** Lanes that are due and nobody's: how many, and since when the first. */
	waiting: number;
	waitingSinceMs: number | null;
}

/** At most `limit` due rows of one lane, behind a place in its order. Fairness is decided by whoever asks. */
export interface ReadRequest {
	receiverId: number;
	afterDueAtMs: number;
	afterId: number;
	limit: number;
}

export interface DueRead {
	/** Of each lane in the order of their due times. */
	deliveries: DueDelivery[];
	/** When the next row falls due that is not due yet, null for never: of every lane that gave less than asked for. */
	nextDue: { receiverId: number; dueAtMs: number | null }[];
}

export interface Leased {
	receiverIds: number[];
	/** When a lane that is nobody's falls due next; null for never. */
	nextDueAtMs: number | null;
}

export interface Handout {
	number: number;
	deliveries: readonly DeliveryInHand[];
}

/** Everything but `takeOver`, `findMissed` and `readTargets` is part of a pass that has begun. */
export interface Queue {
	/** Null when the engine's lease is gone: then nothing of this pass may be written. Locks it until the commit. */
	beginPass(trx: Db, engineId: number, renewal: Renewal | null): Promise<PassBegun | null>;
	/** The receivers whose lanes this engine has. */
	listLanes(trx: Db, engineId: number): Promise<number[]>;
	readOthers(trx: Db, engineId: number, nowMs: number): Promise<Others>;
	/** Ids of the deliveries that were still in the queue as they were handed out; only these were changed. */
	settle(trx: Db, settlements: readonly Settlement[]): Promise<Set<number>>;
	/** The longest waiting first. Never waits for a lane that somebody else is writing. */
	lease(trx: Db, engineId: number, limit: number, dueBeforeMs: number): Promise<Leased>;
	readDue(trx: Db, requests: readonly ReadRequest[], nowMs: number): Promise<DueRead>;
	/** Notes what is in hand from now on, and forgets handouts of which everything is settled. */
	handOut(
		trx: Db,
		engineId: number,
		handout: Handout,
		ended: readonly number[],
		nowMs: number,
	): Promise<void>;
	/** The first look: from here on a new event says that the lane is due. Resolves to those that were shut. */
	shut(trx: Db, engineId: number, receiverIds: readonly number[]): Promise<number[]>;
	/**
	 * The second look, when all have ended that may have seen the lane due: it is free, and due when its first row is.
	 * Nothing of it is in hand. Resolves to those that were let go.
	 */
	letGo(trx: Db, engineId: number, receiverIds: readonly number[]): Promise<number[]>;
	/** Lanes that still have due rows, for another engine to take. Resolves to those that were passed on. */
	passOn(trx: Db, engineId: number, receiverIds: readonly number[], nowMs: number): Promise<number[]>;
	readTargets(trx: Db, receiverIds: readonly number[]): Promise<CallbackTarget[]>;
	/** One engine whose lease has lapsed, or null. A transaction of its own. */
	takeOver(trx: Db, nowMs: number): Promise<{ engineId: number; interrupted: number } | null>;
	/** Receivers with a queue that nobody would look at before `untilMs`, although it is due: there must never be one. */
	findMissed(trx: Db, untilMs: number): Promise<{ receiverId: number; dueAtMs: number }[]>;
}
