// When each programme of this engine's slots is next due, and how far its rows in the queue have been read. No other engine
// sends for these slots, so the engine can keep this in memory. It reads the first due rows when it gets a slot, and is
// notified of new rows after that. The queue is the truth. A due time only says when to read it.

import { slotOf } from "../domain/slot.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { DueDelivery, FirstDue, ReadRequest } from "../store/queries/queue.ts";
import type { Backlog } from "./counters.ts";
import type { ReadLimit } from "./decide.ts";

/** A place in the order of due rows. */
type Position = Pick<DueDelivery, "dueAtMs" | "id">;

interface ProgrammeTimes {
	/** Earliest time at which the programme may have a due row that is not in progress. */
	dueAtMs: number;
	/** All due rows up to this position are in progress, or gone from the queue. */
	readUpTo: Position;
	/** Earliest due time that was noted while the queue was being read. The rows read may be older than that note. */
	notedAtMs: number;
	/** Whether the programme was postponed, and has not been read since. */
	isPostponed: boolean;
}

export interface ProgrammeRead extends ReadRequest {
	/** Number of new deliveries wanted. `limit` is larger if rows in progress lie within the range that is read. */
	wanted: number;
}

/** Returns the deliveries of a programme that are in progress, by id. */
type FindInProgress = (programmeId: number) => ReadonlyMap<number, DueDelivery> | undefined;

const START: Position = { dueAtMs: -1, id: 0 };
const NEVER_MS = Number.POSITIVE_INFINITY;
/** A row that was due for this long without a notification was missed. A process that dies before it notifies is noticed earlier. */
const MISSED_AFTER_MS = 30 * SECOND_MS;

export class DueTimes {
	readonly #inProgress: FindInProgress;
	readonly #programmes = new Map<number, ProgrammeTimes>();
	/** Programmes with a due row. The one that was served longest ago comes first. */
	readonly #due = new Set<number>();
	/** Earliest due time among the programmes that were not returned. */
	#nextAtMs = NEVER_MS;

	constructor(inProgress: FindInProgress) {
		this.#inProgress = inProgress;
	}

	/**
	 * Notes that the programme has a row due at this time. The new row may sort before rows that were already read, because
	 * transactions can commit out of order.
	 */
	note(programmeId: number, dueAtMs: number): void {
		const times = this.#timesOf(programmeId);
		times.notedAtMs = Math.min(times.notedAtMs, dueAtMs);
		if (dueAtMs <= times.readUpTo.dueAtMs) times.readUpTo = endOf(dueAtMs - 1);
		if (dueAtMs < times.dueAtMs) this.#setDue(programmeId, times, dueAtMs);
	}

	/** Postpones a programme that is due, because nothing can be sent for it before then. It is then read from the start. */
	postpone(programmeId: number, untilMs: number): void {
		const times = this.#timesOf(programmeId);
		times.readUpTo = START;
		times.isPostponed = true;
		this.#setDue(programmeId, times, untilMs);
	}

	/** Returns the programmes that are due. The one that was served longest ago comes first. */
	due(nowMs: number): number[] {
		this.#update(nowMs);
		return [...this.#due];
	}

	/** Counts the programmes that are due, or that have a delivery waiting in memory, and finds the oldest due time. */
	backlog(nowMs: number, waitingSince: Iterable<[programmeId: number, dueAtMs: number]>): Backlog {
		this.#update(nowMs);
		let programmesDue = this.#due.size;
		let oldestMs = NEVER_MS;
		for (const id of this.#due) oldestMs = Math.min(oldestMs, this.dueAtMs(id));
		for (const [id, dueAtMs] of waitingSince) {
			if (!this.#due.has(id)) programmesDue++;
			oldestMs = Math.min(oldestMs, dueAtMs);
		}
		return { programmesDue, oldestDueAtMs: oldestMs === NEVER_MS ? null : oldestMs };
	}

	/** Time at which the next programme falls due that is not due yet. */
	get nextAtMs(): number {
		return this.#nextAtMs;
	}

	dueAtMs(programmeId: number): number {
		return this.#programmes.get(programmeId)?.dueAtMs ?? NEVER_MS;
	}

	/** Returns what to read from the queue. Each answer must be passed to `finishRead`. */
	beginReads(limits: readonly ReadLimit[]): ProgrammeRead[] {
		return limits.map(({ programmeId, limit: wanted }) => {
			const times = this.#timesOf(programmeId);
			const { readUpTo } = times;
			times.notedAtMs = NEVER_MS;
			times.isPostponed = false;
			let limit = wanted;
			for (const delivery of this.#inProgress(programmeId)?.values() ?? []) {
				if (isAfter(delivery, readUpTo)) limit++;
			}
			return { programmeId, afterDueAtMs: readUpTo.dueAtMs, afterId: readUpTo.id, limit, wanted };
		});
	}

	/**
	 * Updates the programme's due time from the rows that were read, and from the due time of the first row
	 * that is not due yet (null if there is none). Returns the deliveries to send.
	 */
	finishRead(
		{ programmeId, limit, wanted }: ProgrammeRead,
		rows: readonly DueDelivery[],
		nextDueAtMs: number | null,
		nowMs: number,
	): DueDelivery[] {
		const times = this.#timesOf(programmeId);
		// It was postponed while it was being read. All of it is read again at that time.
		if (times.isPostponed) return [];
		const inProgress = this.#inProgress(programmeId);
		const newRows = inProgress === undefined ? rows : rows.filter(({ id }) => !inProgress.has(id));
		const deliveries = newRows.slice(0, wanted);
		const hasMore = newRows.length > wanted || rows.length === limit;
		const last = deliveries.at(-1) ?? rows.at(-1);
		times.readUpTo = hasMore && last !== undefined ? { dueAtMs: last.dueAtMs, id: last.id } : endOf(nowMs);
		this.#setDue(programmeId, times, hasMore ? times.readUpTo.dueAtMs : (nextDueAtMs ?? NEVER_MS));
		if (times.notedAtMs < NEVER_MS) this.note(programmeId, times.notedAtMs);
		return deliveries;
	}

	/** Notes the first row of each programme, read because a notification may be missing. Returns how many were missed. */
	noteFirstRows(rows: readonly FirstDue[], nowMs: number): number {
		let missed = 0;
		for (const { programmeId, id, dueAtMs } of rows) {
			// A postponed programme is known to have due rows, and will be read.
			if (this.#programmes.get(programmeId)?.isPostponed === true) continue;
			const isExpected =
				this.dueAtMs(programmeId) <= nowMs || this.#inProgress(programmeId)?.has(id) === true;
			if (!isExpected && dueAtMs < nowMs - MISSED_AFTER_MS) missed++;
			this.note(programmeId, dueAtMs);
		}
		return missed;
	}

	forgetSlots(slots: ReadonlySet<number>): void {
		for (const programmeId of this.#programmes.keys()) {
			if (!slots.has(slotOf(programmeId))) continue;
			this.#programmes.delete(programmeId);
			this.#due.delete(programmeId);
		}
	}

	/** Finds the programmes that have fallen due since the last call. */
	#update(nowMs: number): void {
		if (nowMs < this.#nextAtMs) return;
		this.#nextAtMs = NEVER_MS;
		for (const [programmeId, { dueAtMs }] of this.#programmes) {
			if (dueAtMs <= nowMs) this.#due.add(programmeId);
			else if (dueAtMs < this.#nextAtMs) this.#nextAtMs = dueAtMs;
		}
	}

	#setDue(programmeId: number, times: ProgrammeTimes, dueAtMs: number): void {
		times.dueAtMs = dueAtMs;
		// The programme leaves its place in the order. If it is still due, the next update adds it at the end.
		this.#due.delete(programmeId);
		if (dueAtMs < this.#nextAtMs) this.#nextAtMs = dueAtMs;
	}

	#timesOf(programmeId: number): ProgrammeTimes {
		return this.#programmes.getOrInsertComputed(programmeId, () => ({
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
