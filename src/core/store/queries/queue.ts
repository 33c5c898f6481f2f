// The engine's side of the store. An engine has a row in `engines`, which it renews. It owns slots, and only their
// owner sends to the receivers of a slot. Each transaction that writes begins with `beginPass`, which is the fence. If
// the engine's row is gone, another engine owns its slots, and nothing may be written. No write is needed before a
// delivery is sent. Leases are written and compared by the database's own clock. SQLite has only the machine's clock,
// so `nowMs` is used there.
//
//   free ──takeSlots, by an engine with less than its share──▶ owned
//   owned ──giveUpSlots, by an engine that has more than its share or stops──▶ free
//   owned ──removeSilentEngines, after the engine was silent for SILENT_MS──▶ free
//   owned ──removeSilentEngines, once the engine's process is known to have ended (SQLite)──▶ free

import { isTestEvent } from "../../domain/event.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { CallbackForm, ReceiverId, ReceiverKind } from "../../domain/receiver.ts";
import { QUARTER_MS, SECOND_MS } from "../../domain/time.ts";
import type { AttemptTimings, Verdict } from "../../domain/verdict.ts";
import type { Db } from "../schema/tables.ts";
import type { AttemptResult } from "../tables/deliveries.ts";

/** Time without a renewal after which an engine counts as silent. The next engine that notices this removes it. */
export const SILENT_MS: number = 15 * SECOND_MS;

export interface DeliveryInProgress {
	id: number;
	receiverId: ReceiverId;
	/** Due time that was read. A result is stored only if the row in the queue still has this due time. */
	dueAtMs: number;
	run: number;
	/** Number of earlier attempts in the current run that count towards the maximum of seven attempts. */
	counted: number;
	/** Number of the delivery's previous attempt, counted over all runs. It is 0 before the first attempt. */
	seq: number;
	eventBody: string;
}

/** Due row of the queue, with all fields that are needed to send it. */
export interface DueDelivery extends DeliveryInProgress {
	endpointEpoch: number;
	eventName: EventName;
}

/** URL of a receiver's callbacks, and the secret that signs them. */
export interface CallbackTarget {
	receiverId: ReceiverId;
	kind: ReceiverKind;
	endpointId: number | null;
	endpointEpoch: number;
	url: string | null;
	/** Form of the callbacks to the saved URL, or null if no URL is saved. */
	form: CallbackForm | null;
	secretId: number | null;
	sealedSecret: string | null;
	/** Whether a notice of failing callbacks is open. The next success ends it. */
	isFailing: boolean;
}

/** Callback target of a programme's shop, with the programme's ids. Events contain the public id. */
export interface ShopTarget extends CallbackTarget {
	programmeId: number;
	publicId: string;
}

export const TARGET_COLUMNS: string = `r.id as "receiverId", r.kind, r.endpoint_id as "endpointId",
	r.endpoint_epoch as "endpointEpoch", e.url, e.form, s.id as "secretId", s.sealed as "sealedSecret",
	exists (select 1 from notices n where n.receiver_id = r.id and n.kind = 'callbacks_failing'
		and n.ended_at_ms is null) as "isFailing"`;

export const TARGET_JOINS: string = `left join endpoints e on e.id = r.endpoint_id
	left join signing_secrets s on s.receiver_id = r.id and s.activated_at_ms is not null
		and s.replaced_at_ms is null`;

/** Selects the columns of CallbackTarget. Each database adds its own condition on the receivers. */
export const TARGET_SELECT: string = `select ${TARGET_COLUMNS} from receivers r ${TARGET_JOINS}`;

/** Selects the columns of ShopTarget. Each database adds its own condition on the programmes. */
export const SHOP_TARGET_SELECT: string = `select p.id as "programmeId", p.public_id as "publicId", ${TARGET_COLUMNS}
	from programmes p join receivers r on r.programme_id = p.id ${TARGET_JOINS}`;

/** Deliveries that a transaction has made due. The engines are notified of them after its commit. */
export interface Owed {
	receiverIds: readonly ReceiverId[];
	dueAtMs: number;
	/**
	 * Deliveries with everything that is needed to send them, so that an engine of the same process need not read the
	 * queue.
	 */
	ready?: ReadyDeliveries;
}

export interface ReadyDeliveries {
	deliveries: readonly DueDelivery[];
	targets: readonly CallbackTarget[];
	/** Monotonic time that was taken before the transaction read anything. */
	readAtMs: number;
}

export const NOTHING_OWED: Owed = { receiverIds: [], dueAtMs: Number.POSITIVE_INFINITY };

export interface AttemptRecord extends AttemptTimings {
	result: AttemptResult;
	httpStatus: number | null;
	detail: string | null;
	startedAtMs: number;
	tookMs: number;
	endpointId: number;
	nonce: string;
	signature: string;
	/** The stored part of an answer that is not 2xx (domain/answer-excerpt). */
	answer: string | null;
}

/** The result of a delivery. The engine stores it when an attempt has ended, or when the delivery is cancelled. */
export type Settlement = { delivery: DeliveryInProgress; endedAtMs: number } & (
	| { kind: "finished"; state: "delivered" | "failed"; verdict: Verdict; attempt: AttemptRecord }
	| { kind: "retry"; dueAtMs: number; verdict: Verdict; attempt: AttemptRecord }
	/** The Postback URL for which the delivery was created has been removed. */
	| { kind: "cancelled" }
);

/** The columns of `attempts` that an engine writes. They are named, because a later schema may have more. */
export const ATTEMPT_COLUMNS = `delivery_id, seq, run, result, http_status, detail, started_at_ms, took_ms,
	look_up_ms, connect_ms, tls_ms, answer_ms, endpoint_id, nonce, signature, answer`;

/**
 * Returns the quarter of an hour in which an attempt is counted. Returns null for a test and for a cancelled delivery, which
 * are not counted.
 */
export function countedQuarterMs(settlement: Settlement): number | null {
	if (settlement.kind === "cancelled" || isTestEvent(settlement.delivery.eventBody)) return null;
	return Math.floor(settlement.endedAtMs / QUARTER_MS) * QUARTER_MS;
}

/** Values that are stored for a settlement in `undelivered`, `queue` and `attempts`. */
export interface SettledValues {
	/** State for a new row in `undelivered`, or null if the delivery gets no such row. */
	undeliveredState: "failed" | "cancelled" | null;
	/** Next due time, or null if the row of the queue is deleted. */
	dueAtMs: number | null;
	/** Values of the attempt in the order of ATTEMPT_COLUMNS, or null if there was no attempt. */
	attempt: readonly (string | number | null)[] | null;
}

export function settledValues(settlement: Settlement): SettledValues {
	const { delivery, kind } = settlement;
	switch (kind) {
		case "cancelled":
			return { undeliveredState: "cancelled", dueAtMs: null, attempt: null };
		case "retry": {
			const attempt = attemptValues(delivery, settlement.attempt);
			return { undeliveredState: null, dueAtMs: settlement.dueAtMs, attempt };
		}
		case "finished": {
			const attempt = attemptValues(delivery, settlement.attempt);
			return { undeliveredState: settlement.state === "failed" ? "failed" : null, dueAtMs: null, attempt };
		}
		default:
			return kind satisfies never;
	}
}

function attemptValues(delivery: DeliveryInProgress, attempt: AttemptRecord) {
	return [
		delivery.id,
		delivery.seq + 1,
		delivery.run,
		attempt.result,
		attempt.httpStatus,
		attempt.detail,
		attempt.startedAtMs,
		attempt.tookMs,
		attempt.lookUpMs,
		attempt.connectMs,
		attempt.tlsMs,
		attempt.answerMs,
		attempt.endpointId,
		attempt.nonce,
		attempt.signature,
		attempt.answer,
	];
}

/** Ownership of the slots, as seen by one engine. */
export interface SlotOverview {
	/** Number of engines that want slots, this one included. */
	engines: number;
	mine: readonly number[];
	free: number;
	/** Time until the engine that has been silent for longest may be removed, or null if this is the only engine. */
	nextSilentInMs: number | null;
}

export interface RemovedEngine {
	engineId: number;
	renewedAtMs: number;
	/** Maximum number of requests that the removed engine may have had in flight. */
	mostInFlight: number | null;
}

/** A request for at most `limit` due rows of one receiver, after a position in the order of due time and id. */
export interface ReadRequest {
	receiverId: ReceiverId;
	afterDueAtMs: number;
	afterId: number;
	limit: number;
}

export interface DueRead {
	/** Due deliveries. Those of one receiver are in the order of their due times. */
	deliveries: DueDelivery[];
	/** For each receiver that returned fewer rows than requested, the due time of its first row that is not due yet, or null. */
	nextDue: { receiverId: ReceiverId; dueAtMs: number | null }[];
}

export interface FirstDue {
	receiverId: ReceiverId;
	id: number;
	dueAtMs: number;
}

export interface Renewal {
	/**
	 * Maximum number of requests in flight, or null for an engine that gives up its slots, so that the other engines
	 * share them.
	 */
	mostInFlight: number | null;
	nowMs: number;
}

/**
 * Operations of an engine. Methods that take a `trx` must be called in a transaction that began with `beginPass`.
 * Methods that only read need no transaction.
 */
export interface Queue {
	register(db: Db, engineId: number, mostInFlight: number, nowMs: number): Promise<void>;
	/** Locks the engine's row until the commit, and renews it if `renewal` is given. Returns false if the row is gone. */
	beginPass(trx: Db, engineId: number, renewal: Renewal | null): Promise<boolean>;
	/**
	 * Removes the engines that were silent for SILENT_MS or whose processes are known to have ended, and frees their slots.
	 */
	removeSilentEngines(trx: Db, nowMs: number): Promise<RemovedEngine[]>;
	readSlots(trx: Db, engineId: number, nowMs: number): Promise<SlotOverview>;
	/** Takes up to `count` free slots, and returns those that were taken. Another engine may be faster. */
	takeSlots(trx: Db, engineId: number, count: number): Promise<number[]>;
	giveUpSlots(trx: Db, engineId: number, slots: readonly number[]): Promise<void>;
	removeEngine(trx: Db, engineId: number): Promise<void>;
	/**
	 * Stores and counts results. Returns the ids of the deliveries whose row in the queue was unchanged since it was
	 * read. Only these deliveries were changed. On PostgreSQL the statement itself locks the engine's row, so it needs
	 * no transaction. It returns null and writes nothing if that row is gone.
	 */
	settle(db: Db, engineId: number, settlements: readonly Settlement[]): Promise<ReadonlySet<number> | null>;
	/**
	 * Returns the first queued row of each receiver of these slots. The query uses the index to skip from receiver to
	 * receiver.
	 */
	readFirstDue(db: Db, slots: readonly number[]): Promise<FirstDue[]>;
	readDue(db: Db, requests: readonly ReadRequest[], nowMs: number): Promise<DueRead>;
	readTargets(db: Db, receiverIds: readonly ReceiverId[]): Promise<CallbackTarget[]>;
	/**
	 * Returns whether another process has written since the last call. Always false on PostgreSQL, which sends
	 * notifications instead.
	 */
	hasChangedElsewhere(): boolean;
}
