// Who is due when, from memory: the earliest moment each programme has something to send. It is a hint,
// never the truth: the queue decides. Whatever is forgotten here is found again by reading the queue's agenda.

export class Agenda {
	readonly #dueAtMs = new Map<number, number>();
	/** Who comes first this time, counted among those that are due. */
	#turn = 0;

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

	/** Programmes with something due, whoever's turn it is first. */
	due(nowMs: number): number[] {
		const due: number[] = [];
		for (const [programmeId, dueAtMs] of this.#dueAtMs) if (dueAtMs <= nowMs) due.push(programmeId);
		const first = due.length === 0 ? 0 : this.#turn % due.length;
		return [...due.slice(first), ...due.slice(0, first)];
	}

	/** To be called once for each round of claims: the next one starts with somebody else. */
	passTurn(): void {
		this.#turn = (this.#turn + 1) % Number.MAX_SAFE_INTEGER;
	}

	/** The next moment at which something not yet due becomes due; undefined when nothing waits. */
	nextAfter(nowMs: number): number | undefined {
		let next: number | undefined;
		for (const dueAtMs of this.#dueAtMs.values()) {
			if (dueAtMs > nowMs && (next === undefined || dueAtMs < next)) next = dueAtMs;
		}
		return next;
	}
}
