// How often something took how long: counts in ranges that never change, so that what several processes counted can be
// added up. Observing is a few comparisons, because it is done for every request.

export class Histogram {
	/** Upper ends of the ranges, rising; what is above the last has a range of its own. */
	readonly bounds: readonly number[];
	readonly #counts: number[];
	#sum = 0;

	constructor(bounds: readonly number[]) {
		this.bounds = bounds;
		this.#counts = new Array<number>(bounds.length + 1).fill(0);
	}

	observe(value: number): void {
		let range = 0;
		while (range < this.bounds.length && value > (this.bounds[range] ?? 0)) range++;
		this.#counts[range] = (this.#counts[range] ?? 0) + 1;
		this.#sum += value;
	}

	get sum(): number {
		return this.#sum;
	}

	/** For each bound, and last for all: how many were not above it. */
	get countsUpTo(): number[] {
		let upTo = 0;
		return this.#counts.map((count) => {
			upTo += count;
			return upTo;
		});
	}
}
