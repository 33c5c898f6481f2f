// Who is due when, from memory: the earliest moment each programme has something to send. It is a hint,
// never the truth: the queue decides. Whatever is forgotten here is found again by reading the queue's agenda.

export class Agenda {
	readonly #dueAtMs = new Map<number, number>();
	/** Where the last round stopped, so that everybody comes first in turn. */
	#nextTurn = 0;

	/** Something of this programme may be taken at `dueAtMs`; an earlier known time stays. */
	note(programmeId: number, dueAtMs: number): void {
		const known = this.#dueAtMs.get(programmeId);
		if (known === undefined || dueAtMs < known) this.#dueAtMs.set(programmeId, dueAtMs);
	}

	/** What the queue itself said: replaces what was known. */
	correct(programmeId: number, dueAtMs: number | null): void {
		if (dueAtMs === null) this.#dueAtMs.delete(programmeId);
		else this.#dueAtMs.set(programmeId, dueAtMs);
	}

	/** Programmes with something due, each time starting with another one. */
	due(nowMs: number): number[] {
		const due: number[] = [];
		for (const [programmeId, dueAtMs] of this.#dueAtMs) if (dueAtMs <= nowMs) due.push(programmeId);
		if (due.length < 2) return due;
		this.#nextTurn = (this.#nextTurn + 1) % due.length;
		return [...due.slice(this.#nextTurn), ...due.slice(0, this.#nextTurn)];
	}

	/** The next moment at which something not yet due becomes due; undefined when nothing waits. */
	nextAfter(nowMs: number): number | undefined {
		let next: number | undefined;
		for (const dueAtMs of this.#dueAtMs.values()) {
			if (dueAtMs > nowMs && (next === undefined || dueAtMs < next)) next = dueAtMs;
		}
		return next;
	}

	get size(): number {
		return this.#dueAtMs.size;
	}
}
