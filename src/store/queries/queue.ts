// The engine's side of the store. An engine is a row in `engines`, which it renews; it owns slots, and sends to the shops
// of their programmes alone. All that it writes begins with `beginPass`, which is the fence: without its row another
// engine has its slots, and nothing may be written. Handing out writes nothing. Leases are written and judged by the
// database's own clock; SQLite has none but the machine's, so there `nowMs` counts.
//
//   slot free ──an engine with less than its share: takeSlots──▶ owned ──more than its share, or it stops: giveSlots──▶ free
//   owned ──its engine was silent for SILENT_MS: endSilent──▶ free

import type { EventName } from "../../domain/event-name.ts";
import { SECOND_MS } from "../../domain/time.ts";
import type { AttemptTimings, Verdict } from "../../domain/verdict.ts";
import type { Db } from "../schema/tables.ts";
import type { AttemptResult } from "../tables/deliveries.ts";

/** An engine that has not renewed its row for so long has lost its slots to whichever engine notices. */
export const SILENT_MS: number = 15 * SECOND_MS;

/** What a settlement needs to know of the delivery that it ends. */
export interface DeliveryInHand {
	id: number;
	programmeId: number;
	/** As it was read: a result is stored if its row is still in the queue under this time. */
	dueAtMs: number;
	run: number;
	/** Counted attempts of this run, before this one. */
	counted: number;
	/** The number of the last row in `attempts`, before this one's. */
	seq: number;
	eventBody: string;
}

/** A row of the queue that is due, with what is needed to send it. */
export interface DueDelivery extends DeliveryInHand {
	endpointEpoch: number;
	eventName: EventName;
}

/** Where a programme's callbacks go and how they are signed. */
export interface CallbackTarget {
	programmeId: number;
	publicId: string;
	endpointId: number | null;
	endpointEpoch: number;
	url: string | null;
	secretId: number | null;
	sealedSecret: string | null;
	/** A notice of failing callbacks is open: the next success ends it. */
	isFailing: boolean;
}

/** The columns are CallbackTarget's. Both databases read it; each adds which programmes. */
export const TARGET_SELECT = `select p.id as "programmeId", p.public_id as "publicId", p.endpoint_id as "endpointId",
	p.endpoint_epoch as "endpointEpoch", e.url, s.id as "secretId", s.sealed as "sealedSecret",
	exists (select 1 from notices n where n.receiver_id = p.id and n.kind = 'callbacks_failing'
		and n.ended_at_ms is null) as "isFailing"
	from programmes p
	left join endpoints e on e.id = p.endpoint_id
	left join signing_secrets s on s.receiver_id = p.id and s.activated_at_ms is not null
		and s.replaced_at_ms is null`;

/** What a transaction has made due, for the engines to hear of after its commit. */
export interface Owed {
	programmeIds: readonly number[];
	/** Nothing of it is due earlier. */
	dueAtMs: number;
	/** With this an engine of the same process sends without reading anything. */
	inHand?: OwedInHand;
}

export interface OwedInHand {
	deliveries: readonly DueDelivery[];
	targets: readonly CallbackTarget[];
	/** By the monotonic clock, before the transaction read anything. */
	readAtMs: number;
}

export const NOTHING_OWED: Owed = { programmeIds: [], dueAtMs: Number.POSITIVE_INFINITY };

export interface AttemptRecord extends AttemptTimings {
	result: AttemptResult;
	httpStatus: number | null;
	detail: string | null;
	startedAtMs: number;
	tookMs: number;
	endpointId: number;
	nonce: string;
	signature: string;
	/** What is kept of an answer that is not 2xx (domain/kept-answer). */
	answer: string | null;
}

/** How a delivery leaves an engine's hands. */
export type Settlement = { delivery: DeliveryInHand; endedAtMs: number } & (
	| { kind: "finished"; state: "delivered" | "failed"; verdict: Verdict; attempt: AttemptRecord }
	| { kind: "retry"; dueAtMs: number; verdict: Verdict; attempt: AttemptRecord }
	/** The URL it was made for has been removed. */
	| { kind: "cancelled" }
);

/** The columns of `attempts` as an engine writes them, by name: a later schema may have more. */
export const ATTEMPT_COLUMNS = `delivery_id, seq, programme_id, run, result, http_status, detail, started_at_ms, took_ms,
	look_up_ms, connect_ms, tls_ms, answer_ms, endpoint_id, nonce, signature, answer`;

/** What a settlement makes of the delivery and its place in the queue: null where there was no attempt, or no next one. */
export function settledValues(settlement: Settlement) {
	const { delivery, endedAtMs, kind } = settlement;
	const [attempt, verdict] = kind === "cancelled" ? [null, null] : [settlement.attempt, settlement.verdict];
	const newSeq = attempt && delivery.seq + 1;
	return {
		state: kind === "finished" ? settlement.state : kind === "retry" ? ("pending" as const) : kind,
		dueAtMs: kind === "retry" ? settlement.dueAtMs : null,
		finishedAtMs: kind === "retry" ? null : endedAtMs,
		verdict,
		newSeq,
		httpStatus: attempt?.httpStatus ?? null,
		startedAtMs: attempt?.startedAtMs ?? null,
		/** In the order of ATTEMPT_COLUMNS. */
		attempt: [
			delivery.id,
			newSeq,
			delivery.programmeId,
			delivery.run,
			attempt?.result ?? null,
			attempt?.httpStatus ?? null,
			attempt?.detail ?? null,
			attempt?.startedAtMs ?? null,
			attempt?.tookMs ?? null,
			attempt?.lookUpMs ?? null,
			attempt?.connectMs ?? null,
			attempt?.tlsMs ?? null,
			attempt?.answerMs ?? null,
			attempt?.endpointId ?? null,
			attempt?.nonce ?? null,
			attempt?.signature ?? null,
			attempt?.answer ?? null,
		] as const,
	};
}

/** Who has which slots, as an engine sees it. */
export interface SlotLook {
	/** Engines that want slots, this one included. */
	engines: number;
	mine: readonly number[];
	free: number;
	/** When the engine that has been silent for longest is to be ended, if it stays silent; null without another. */
	nextSilentInMs: number | null;
	/** An engine of 1.0.0 still has its lanes: nothing may be taken. */
	isBeforeSlots: boolean;
}

export interface EndedEngine {
	engineId: number;
	renewedAtMs: number | null;
	/** How many requests it may have had on their way. */
	mostInFlight: number | null;
}

/** At most `limit` due rows of one programme, behind a place in their order. */
export interface ReadRequest {
	programmeId: number;
	afterDueAtMs: number;
	afterId: number;
	limit: number;
}

export interface DueRead {
	/** Of each programme in the order of their due times. */
	deliveries: DueDelivery[];
	/** When the next row falls due that is not due yet, null for never: of every programme that gave less than asked for. */
	nextDue: { programmeId: number; dueAtMs: number | null }[];
}

export interface FirstDue {
	programmeId: number;
	id: number;
	dueAtMs: number;
}

export interface Renewal {
	/** Null for an engine that gives its slots up: the others share them out without it. */
	mostInFlight: number | null;
	nowMs: number;
}

/** What takes a `trx` is part of a pass that has begun; reading needs none. */
export interface Queue {
	register(db: Db, engineId: number, mostInFlight: number, nowMs: number): Promise<void>;
	/** False when the engine's row is gone. Locks it until the commit; renews it where asked to. */
	beginPass(trx: Db, engineId: number, renewal: Renewal | null): Promise<boolean>;
	endSilent(trx: Db, nowMs: number): Promise<EndedEngine[]>;
	lookAtSlots(trx: Db, engineId: number, nowMs: number): Promise<SlotLook>;
	/** Resolves to those that it took: another engine may be faster. */
	takeSlots(trx: Db, engineId: number, count: number): Promise<number[]>;
	giveSlots(trx: Db, engineId: number, slots: readonly number[]): Promise<void>;
	endEngine(trx: Db, engineId: number): Promise<void>;
	/** Ids of the deliveries that were still in the queue as they were read; only these were changed. */
	settle(trx: Db, settlements: readonly Settlement[]): Promise<Set<number>>;
	/** The first row of each programme of these slots. Jumps from programme to programme along the index. */
	readAgenda(db: Db, slots: readonly number[]): Promise<FirstDue[]>;
	readDue(db: Db, requests: readonly ReadRequest[], nowMs: number): Promise<DueRead>;
	readTargets(db: Db, programmeIds: readonly number[]): Promise<CallbackTarget[]>;
	/** True when another process has written since the last call. Always false on PostgreSQL, where NOTIFY tells. */
	hasChangedElsewhere(): boolean;
}
