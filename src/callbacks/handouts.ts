// Which handouts of this engine still have something in hand. The store keeps each until everything of it is settled:
// from them another engine learns what was in hand when this one dies.

export class Handouts {
	#last = 0;
	/** How many of each are still in hand. */
	readonly #left = new Map<number, number>();
	/** Of passes that failed without a word: they may be stored or not, and nothing of them is in hand. */
	#doubtful: number[] = [];

	next(): number {
		return ++this.#last;
	}

	/** What a pass can forget that settles so many of each. */
	endedWith(settled: ReadonlyMap<number, number>): number[] {
		const ended = [...settled].filter(([handout, count]) => this.#left.get(handout) === count);
		return [...this.#doubtful, ...ended.map(([handout]) => handout)];
	}

	/** The pass is stored: so many were handed out, and so many of each were settled. */
	learn(handout: number, count: number, settled: ReadonlyMap<number, number>): void {
		this.#doubtful = [];
		if (count > 0) this.#left.set(handout, count);
		for (const [settledHandout, settledCount] of settled) {
			const left = (this.#left.get(settledHandout) ?? 0) - settledCount;
			if (left > 0) this.#left.set(settledHandout, left);
			else this.#left.delete(settledHandout);
		}
	}

	doubt(handout: number): void {
		this.#doubtful.push(handout);
	}

	/** The lease is lost, and all of them with it. Numbers go on. */
	clear(): void {
		this.#left.clear();
		this.#doubtful = [];
	}
}
