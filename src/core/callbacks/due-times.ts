// Remembers when each receiver of this engine's slots is next due, and how far its rows in the queue have been read. No
// other engine sends for these slots, so this can be in memory. The engine reads the first due rows when it gets a
// slot, and is notified of new rows after that. The queue is the truth. A due time only says when to read the queue.

import type { ReceiverId } from "../domain/receiver.ts";
import { slotOf } from "../domain/slot.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { DueDelivery, FirstDue, ReadRequest } from "../store/queries/queue.ts";
import type { Backlog } from "./counters.ts";
import type { ReadLimit } from "./decide.ts";

/** Place of a row in the queue's order, which is by due time and then by id. */
type Position = Pick<DueDelivery, "dueAtMs" | "id">;

interface ReceiverTimes {
	/** Earliest time at which the receiver may have a due row that is not in progress. */
	dueAtMs: number;
	/** Position up to which all due rows are in progress or gone from the queue. */
	readUpTo: Position;
	/**
	 * Earliest due time that was noted while the queue was being read. The rows that were read may be older than this
	 * note.
	 */
	notedAtMs: number;
	/** Whether the receiver was postponed, and has not been read since. */
	isPostponed: boolean;
}

export interface ReceiverRead extends ReadRequest {
	/** Number of new deliveries wanted. `limit` is larger if rows in progress lie within the range that is read. */
	wanted: number;
}

/** Returns those deliveries of a receiver that are waiting, in flight or not stored yet, by id. */
type FindInProgress = (receiverId: ReceiverId) => ReadonlyMap<number, DueDelivery> | undefined;

const START: Position = { dueAtMs: -1, id: 0 };
const NEVER_MS = Number.POSITIVE_INFINITY;
/**
 * Time after which a due row counts as missed if no notification announced it. If a process dies before it notifies,
 * the other engines notice that earlier.
 */
const MISSED_AFTER_MS = 30 * SECOND_MS;

export class DueTimes {
	readonly #inProgress: FindInProgress;
	readonly #receivers = new Map<ReceiverId, ReceiverTimes>();
	/** Receivers with a due row, the least recently served first. */
	readonly #due = new Set<ReceiverId>();
	/** Earliest due time among the receivers that are not due yet. */
	#nextAtMs = NEVER_MS;

	constructor(inProgress: FindInProgress) {
		this.#inProgress = inProgress;
	}

	/**
	 * Notes that the receiver has a row due at this time. The new row may sort before rows that were already read, because
	 * transactions can commit out of order.
	 */
	note(receiverId: ReceiverId, dueAtMs: number): void {
		const times = this.#timesOf(receiverId);
		times.notedAtMs = Math.min(times.notedAtMs, dueAtMs);
		if (dueAtMs <= times.readUpTo.dueAtMs) times.readUpTo = endOf(dueAtMs - 1);
		if (dueAtMs < times.dueAtMs) this.#setDue(receiverId, times, dueAtMs);
	}

	/**
	 * Postpones a due receiver, because nothing can be sent to it before `untilMs`. At that time its rows are read from
	 * the start.
	 */
	postpone(receiverId: ReceiverId, untilMs: number): void {
		const times = this.#timesOf(receiverId);
		times.readUpTo = START;
		times.isPostponed = true;
		this.#setDue(receiverId, times, untilMs);
	}

	due(nowMs: number): ReceiverId[] {
		this.#update(nowMs);
		return [...this.#due];
	}

	/** Counts the receivers that are due, or that have a delivery waiting in memory, and finds the oldest due time. */
	backlog(nowMs: number, waitingSince: Iterable<[receiverId: ReceiverId, dueAtMs: number]>): Backlog {
		this.#update(nowMs);
		let receiversDue = this.#due.size;
		let oldestMs = NEVER_MS;
		for (const id of this.#due) oldestMs = Math.min(oldestMs, this.dueAtMs(id));
		for (const [id, dueAtMs] of waitingSince) {
			if (!this.#due.has(id)) receiversDue++;
			oldestMs = Math.min(oldestMs, dueAtMs);
		}
		return { receiversDue, oldestDueAtMs: oldestMs === NEVER_MS ? null : oldestMs };
	}

	/** Time at which the next receiver becomes due. Receivers that are already due are left out. */
	get nextAtMs(): number {
		return this.#nextAtMs;
	}

	dueAtMs(receiverId: ReceiverId): number {
		return this.#receivers.get(receiverId)?.dueAtMs ?? NEVER_MS;
	}

	/** Returns the reads to make from the queue. The caller must pass the result of each to `finishRead`. */
	beginReads(limits: readonly ReadLimit[]): ReceiverRead[] {
		return limits.map(({ receiverId, limit: wanted }) => {
			const times = this.#timesOf(receiverId);
			const { readUpTo } = times;
			times.notedAtMs = NEVER_MS;
			times.isPostponed = false;
			let limit = wanted;
			for (const delivery of this.#inProgress(receiverId)?.values() ?? []) {
				if (isAfter(delivery, readUpTo)) limit++;
			}
			return { receiverId, afterDueAtMs: readUpTo.dueAtMs, afterId: readUpTo.id, limit, wanted };
		});
	}

	/**
	 * Updates the receiver's due time after a read. `rows` are the due rows that were read, and `nextDueAtMs` is the due
	 * time of the first row that is not due yet, or null if there is none. Returns the deliveries to send.
	 */
	finishRead(
		{ receiverId, limit, wanted }: ReceiverRead,
		rows: readonly DueDelivery[],
		nextDueAtMs: number | null,
		nowMs: number,
	): DueDelivery[] {
		const times = this.#timesOf(receiverId);
		// The receiver was postponed while it was being read. All of its rows are read again later.
		if (times.isPostponed) return [];
		const inProgress = this.#inProgress(receiverId);
		const newRows = inProgress === undefined ? rows : rows.filter(({ id }) => !inProgress.has(id));
		const deliveries = newRows.slice(0, wanted);
		const hasMore = newRows.length > wanted || rows.length === limit;
		const last = deliveries.at(-1) ?? rows.at(-1);
		times.readUpTo = hasMore && last !== undefined ? { dueAtMs: last.dueAtMs, id: last.id } : endOf(nowMs);
		this.#setDue(receiverId, times, hasMore ? times.readUpTo.dueAtMs : (nextDueAtMs ?? NEVER_MS));
		if (times.notedAtMs < NEVER_MS) this.note(receiverId, times.notedAtMs);
		return deliveries;
	}

	/**
	 * Notes the first row of each receiver. These rows are read when a notification may be missing. Returns the number of
	 * receivers whose notification was missed.
	 */
	noteFirstRows(rows: readonly FirstDue[], nowMs: number): number {
		let missed = 0;
		for (const { receiverId, id, dueAtMs } of rows) {
			// A postponed receiver is known to have due rows, and its rows will be read anyway.
			if (this.#receivers.get(receiverId)?.isPostponed === true) continue;
			const isExpected = this.dueAtMs(receiverId) <= nowMs || this.#inProgress(receiverId)?.has(id) === true;
			if (!isExpected && dueAtMs < nowMs - MISSED_AFTER_MS) missed++;
			this.note(receiverId, dueAtMs);
		}
		return missed;
	}

	forgetSlots(slots: ReadonlySet<number>): void {
		for (const receiverId of this.#receivers.keys()) {
			if (!slots.has(slotOf(receiverId))) continue;
			this.#receivers.delete(receiverId);
			this.#due.delete(receiverId);
		}
	}

	/** Moves receivers that have fallen due since the last call into the set of due receivers. */
	#update(nowMs: number): void {
		if (nowMs < this.#nextAtMs) return;
		this.#nextAtMs = NEVER_MS;
		for (const [receiverId, { dueAtMs }] of this.#receivers) {
			if (dueAtMs <= nowMs) this.#due.add(receiverId);
			else if (dueAtMs < this.#nextAtMs) this.#nextAtMs = dueAtMs;
		}
	}

	#setDue(receiverId: ReceiverId, times: ReceiverTimes, dueAtMs: number): void {
		times.dueAtMs = dueAtMs;
		// The receiver leaves its place in the order. If it is still due, the next update adds it at the end.
		this.#due.delete(receiverId);
		if (dueAtMs < this.#nextAtMs) this.#nextAtMs = dueAtMs;
	}

	#timesOf(receiverId: ReceiverId): ReceiverTimes {
		return this.#receivers.getOrInsertComputed(receiverId, () => ({
			dueAtMs: NEVER_MS,
			readUpTo: START,
			notedAtMs: NEVER_MS,
			isPostponed: false,
		}));
	}
}

/** Returns the position after all rows that are due at this time. */
function endOf(dueAtMs: number): Position {
	return { dueAtMs, id: Number.MAX_SAFE_INTEGER };
}

function isAfter(a: Position, b: Position): boolean {
	return a.dueAtMs > b.dueAtMs || (a.dueAtMs === b.dueAtMs && a.id > b.id);
}
