// When each programme of this engine's slots is next due, and how far its part of the queue has been read. Nobody else
// sends for these slots, so the engine can remember it: it reads the agenda when it gets a slot, and hears of the rest.
// The queue is the truth: what is noted here only says where to look.

import { slotOf } from "../domain/slot.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { DueDelivery, FirstDue, ReadRequest } from "../store/queries/queue.ts";
import type { Backlog } from "./counters.ts";

/** Due rows are in this order. */
type Position = Pick<DueDelivery, "dueAtMs" | "id">;

interface Programme {
	/** The earliest moment at which something may be sent that is not in hand. */
	dueAtMs: number;
	/** All due rows up to here are in hand, or gone. */
	after: Position;
	/** The earliest that was noted while the queue was being read: the answer may be older. */
	notedAtMs: number;
	/** Put off, and not asked for since. */
	isPutOff: boolean;
}

export interface AgendaRequest extends ReadRequest {
	/** The limit is larger where rows in hand lie in the way. */
	wanted: number;
}

type InHand = (programmeId: number) => ReadonlyMap<number, DueDelivery> | undefined;

const FRONT: Position = { dueAtMs: -1, id: 0 };
const NEVER_MS = Number.POSITIVE_INFINITY;
/** What was due for so long without being noted was missed. A process that dies before it tells is noticed earlier. */
const MISSED_AFTER_MS = 30 * SECOND_MS;

export class Agenda {
	readonly #programmes = new Map<number, Programme>();
	/** Those with something due: whichever was served longest ago is first. */
	readonly #due = new Set<number>();
	/** When the next of the others falls due. */
	#nextAtMs = NEVER_MS;

	/** Something of this programme is due then. It may lie before what was read already: a commit can be late. */
	note(programmeId: number, dueAtMs: number): void {
		const programme = this.#of(programmeId);
		programme.notedAtMs = Math.min(programme.notedAtMs, dueAtMs);
		if (dueAtMs <= programme.after.dueAtMs) programme.after = allUntil(dueAtMs - 1);
		if (dueAtMs < programme.dueAtMs) this.#setDue(programmeId, programme, dueAtMs);
	}

	/** Nothing of it can be sent before that, although it is due. */
	putOff(programmeId: number, untilMs: number): void {
		const programme = this.#of(programmeId);
		programme.after = FRONT;
		programme.isPutOff = true;
		this.#setDue(programmeId, programme, untilMs);
	}

	/** In turn: whichever was served longest ago is first. */
	due(nowMs: number): number[] {
		this.#look(nowMs);
		return [...this.#due];
	}

	/** Programmes with something due, here or waiting in their lanes, and since when the longest of them waits. */
	backlog(nowMs: number, waitingSince: Iterable<[programmeId: number, dueAtMs: number]>): Backlog {
		this.#look(nowMs);
		let programmesDue = this.#due.size;
		let oldestMs = NEVER_MS;
		for (const id of this.#due) oldestMs = Math.min(oldestMs, this.dueAtMs(id));
		for (const [id, dueAtMs] of waitingSince) {
			if (!this.#due.has(id)) programmesDue++;
			oldestMs = Math.min(oldestMs, dueAtMs);
		}
		return { programmesDue, oldestDueAtMs: oldestMs === NEVER_MS ? null : oldestMs };
	}

	get nextAtMs(): number {
		return this.#nextAtMs;
	}

	dueAtMs(programmeId: number): number {
		return this.#programmes.get(programmeId)?.dueAtMs ?? NEVER_MS;
	}

	requestsFor(limits: readonly { programmeId: number; limit: number }[], inHand: InHand): AgendaRequest[] {
		return limits.map(({ programmeId, limit: wanted }) => {
			const programme = this.#of(programmeId);
			const { after } = programme;
			programme.notedAtMs = NEVER_MS;
			programme.isPutOff = false;
			let limit = wanted;
			for (const held of inHand(programmeId)?.values() ?? []) if (isBehind(held, after)) limit++;
			return { programmeId, afterDueAtMs: after.dueAtMs, afterId: after.id, limit, wanted };
		});
	}

	/** What a read of this programme means. Returns what is to be taken in hand. */
	learn(
		{ programmeId, limit, wanted }: AgendaRequest,
		rows: readonly DueDelivery[],
		nextDueAtMs: number | null,
		inHand: InHand,
		nowMs: number,
	): DueDelivery[] {
		const programme = this.#of(programmeId);
		// While it was being read: all of it is read again then, from the front.
		if (programme.isPutOff) return [];
		const held = inHand(programmeId);
		const unheld = held === undefined ? rows : rows.filter(({ id }) => !held.has(id));
		const taken = unheld.slice(0, wanted);
		const hasMore = unheld.length > wanted || rows.length === limit;
		const last = taken.at(-1) ?? rows.at(-1);
		programme.after =
			hasMore && last !== undefined ? { dueAtMs: last.dueAtMs, id: last.id } : allUntil(nowMs);
		this.#setDue(programmeId, programme, hasMore ? programme.after.dueAtMs : (nextDueAtMs ?? NEVER_MS));
		if (programme.notedAtMs < NEVER_MS) this.note(programmeId, programme.notedAtMs);
		return taken;
	}

	/** The first row of each programme, read because something may have been missed. Returns how much was. */
	learnAll(rows: readonly FirstDue[], inHand: InHand, nowMs: number): number {
		let missed = 0;
		for (const { programmeId, id, dueAtMs } of rows) {
			// It is known, and will be read.
			if (this.#programmes.get(programmeId)?.isPutOff === true) continue;
			const isKnown = this.dueAtMs(programmeId) <= nowMs || inHand(programmeId)?.has(id) === true;
			if (!isKnown && dueAtMs < nowMs - MISSED_AFTER_MS) missed++;
			this.note(programmeId, dueAtMs);
		}
		return missed;
	}

	drop(slots: ReadonlySet<number>): void {
		for (const programmeId of this.#programmes.keys()) {
			if (!slots.has(slotOf(programmeId))) continue;
			this.#programmes.delete(programmeId);
			this.#due.delete(programmeId);
		}
	}

	#look(nowMs: number): void {
		if (nowMs < this.#nextAtMs) return;
		this.#nextAtMs = NEVER_MS;
		for (const [programmeId, { dueAtMs }] of this.#programmes) {
			if (dueAtMs <= nowMs) this.#due.add(programmeId);
			else if (dueAtMs < this.#nextAtMs) this.#nextAtMs = dueAtMs;
		}
	}

	#setDue(programmeId: number, programme: Programme, dueAtMs: number): void {
		programme.dueAtMs = dueAtMs;
		// To the end of the line; the next look at the time puts it in again where it is due.
		this.#due.delete(programmeId);
		if (dueAtMs < this.#nextAtMs) this.#nextAtMs = dueAtMs;
	}

	#of(programmeId: number): Programme {
		return this.#programmes.getOrInsertComputed(programmeId, () => ({
			dueAtMs: NEVER_MS,
			after: FRONT,
			notedAtMs: NEVER_MS,
			isPutOff: false,
		}));
	}
}

function allUntil(dueAtMs: number): Position {
	return { dueAtMs, id: Number.MAX_SAFE_INTEGER };
}

function isBehind(a: Position, b: Position): boolean {
	return a.dueAtMs > b.dueAtMs || (a.dueAtMs === b.dueAtMs && a.id > b.id);
}
