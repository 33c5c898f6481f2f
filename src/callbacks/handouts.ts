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

	/** What a pass can forget in which these were settled, by the handouts they came with. */
	endedWith(settled: readonly number[]): number[] {
		const counts = new Map<number, number>();
		for (const handout of settled) counts.set(handout, (counts.get(handout) ?? 0) + 1);
		const ended = [...counts].filter(([handout, count]) => this.#left.get(handout) === count);
		return [...this.#doubtful, ...ended.map(([handout]) => handout)];
	}

	/** The pass is stored: so many were handed out, and these were settled. */
	learn(handout: number, count: number, settled: readonly number[]): void {
		this.#doubtful = [];
		if (count > 0) this.#left.set(handout, count);
		for (const of of settled) {
			const left = (this.#left.get(of) ?? 0) - 1;
			if (left > 0) this.#left.set(of, left);
			else this.#left.delete(of);
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
