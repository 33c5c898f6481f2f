// This room is the engine that sends events to shops; begin at `engine.ts`.
// Here: who is due when, from memory: the earliest moment each programme has something to send. It is a hint, never the
// truth: the queue decides. Whatever is forgotten here is found again by reading the queue's own agenda.

import type { AgendaRow } from "../store/queue.ts";

/** How often the queue itself is read for what nobody announced: another process's death, a lost wake-up. */
export const POLL_MS = 5_000;
/** When other engines hold the due rows of a programme just now. */
const CONTENDED_RETRY_MS = 50;

export class Agenda {
	readonly #dueAtMs = new Map<number, number>();
	/** Announced during this round: what the queue said of them is older and must not replace it. */
	readonly #announced = new Set<number>();
	#readAtMs = Number.NEGATIVE_INFINITY;
	/** Counts up, so that each round starts with another of the programmes that are due. */
	#round = 0;

	/** Something of these has become due. Where nobody could name them, the queue has to be read. */
	announce(where: readonly number[] | "anywhere", nowMs: number): void {
		if (where === "anywhere") {
			this.outdate();
			return;
		}
		for (const programmeId of where) {
			this.note(programmeId, nowMs);
			this.#announced.add(programmeId);
		}
	}

	/** Something of this programme may be taken at `dueAtMs`; an earlier known time stays. */
	note(programmeId: number, dueAtMs: number): void {
		const known = this.#dueAtMs.get(programmeId);
		if (known === undefined || dueAtMs < known) this.#dueAtMs.set(programmeId, dueAtMs);
	}

	/** What the queue itself said in this round: replaces what was known before it. */
	correct(programmeId: number, dueAtMs: number | null, nowMs: number): void {
		if (this.#announced.has(programmeId)) return;
		if (dueAtMs === null) this.#dueAtMs.delete(programmeId);
		else this.#dueAtMs.set(programmeId, dueAtMs <= nowMs ? nowMs + CONTENDED_RETRY_MS : dueAtMs);
	}

	/** The queue has to be read before it is known again who is due. */
	outdate(): void {
		this.#readAtMs = Number.NEGATIVE_INFINITY;
	}

	isOutdated(nowMs: number): boolean {
		const ageMs = nowMs - this.#readAtMs;
		// Negative when the clock was set back: then it is not known how old it is.
		return ageMs < 0 || ageMs >= POLL_MS;
	}

	fill(rows: readonly AgendaRow[], nowMs: number): void {
		for (const { programmeId, dueAtMs } of rows) this.note(programmeId, dueAtMs);
		this.#readAtMs = nowMs;
	}

	/** Programmes with something due, in the order of this round. */
	due(nowMs: number): number[] {
		const due: number[] = [];
		for (const [programmeId, dueAtMs] of this.#dueAtMs) if (dueAtMs <= nowMs) due.push(programmeId);
		const first = due.length === 0 ? 0 : this.#round % due.length;
		return [...due.slice(first), ...due.slice(0, first)];
	}

	/** To be called once for each round of claims: the next one starts with somebody else. */
	startRound(): void {
		this.#round = (this.#round + 1) % Number.MAX_SAFE_INTEGER;
		this.#announced.clear();
	}

	/** The next moment at which something not yet due becomes due; infinity when nothing waits. */
	nextAfter(nowMs: number): number {
		let next = Number.POSITIVE_INFINITY;
		for (const dueAtMs of this.#dueAtMs.values()) if (dueAtMs > nowMs && dueAtMs < next) next = dueAtMs;
		return next;
	}
}
