// Generates random numbers that can be replayed. They are all drawn from one seed and are the same on every machine.

import type { Random } from "#core/ports.ts";

export interface SeededRandom {
	/** Returns a number of at least 0 and below 1. */
	fraction(): number;
	/** Returns a whole number from `least` to `most`, inclusive. */
	between(least: number, most: number): number;
	chance(share: number): boolean;
	pick<Item>(items: readonly Item[]): Item;
	bytes(count: number): Uint8Array;
}

/** Returns a source of randomness for the service that draws from a seeded generator. */
export function randomPort(drawn: SeededRandom): Random {
	return {
		bytes: (count) => drawn.bytes(count),
		hex: (count) => Buffer.from(drawn.bytes(count)).toString("hex"),
	};
}

export function createSeededRandom(seed: number): SeededRandom {
	let state = seed | 0;
	function fraction(): number {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	}
	const between = (least: number, most: number): number =>
		least + Math.floor(fraction() * (most - least + 1));
	return {
		fraction,
		between,
		chance: (share) => fraction() < share,
		pick(items) {
			const [first] = items;
			if (first === undefined) throw new RangeError("there is nothing to pick from");
			return items[between(0, items.length - 1)] ?? first;
		},
		bytes: (count) => Uint8Array.from({ length: count }, () => between(0, 255)),
	};
}
