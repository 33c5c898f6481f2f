// Work for the database that many ask for at once, done together: whoever comes alone starts at once, and what comes
// while that is under way is the next batch. There is no timer.

import type { Clock } from "../ports.ts";

export interface Batches<Item, Done> {
	/** Of all items that wait, and not of those at work. */
	readonly waitingSize: number;
	/** Rejects when its batch does. */
	add(item: Item): Promise<Done>;
}

export interface BatchLimits<Item> {
	/** An item that is larger by itself is a batch of its own. */
	maxSize: number;
	/** 1 unless told. */
	sizeOf?: (item: Item) => number;
	/** How many batches may be at work at the same time: 1 unless told. */
	lines?: number;
}

interface Waiting<Item, Done> {
	item: Item;
	size: number;
	done: PromiseWithResolvers<Done>;
}

/** `work` answers in the order of the items. */
export function createBatches<Item, Done>(
	clock: Pick<Clock, "yieldLoop">,
	work: (items: readonly Item[]) => Promise<readonly Done[]>,
	{ maxSize, sizeOf = () => 1, lines = 1 }: BatchLimits<Item>,
): Batches<Item, Done> {
	let waiting: Waiting<Item, Done>[] = [];
	let waitingSize = 0;
	let working = 0;

	/** Never rejects. */
	async function workOff(): Promise<void> {
		while (waiting.length > 0) {
			// A file database answers without ever going back to the event loop, and nobody else would be read meanwhile. So
			// what has arrived by now comes along.
			await clock.yieldLoop();
			const batch = takeBatch();
			if (batch.length > 0) await workOn(batch);
		}
		working--;
	}

	function takeBatch(): Waiting<Item, Done>[] {
		let size = 0;
		const end = waiting.findIndex((next, index) => {
			size += next.size;
			return index > 0 && size > maxSize;
		});
		const batch = end === -1 ? waiting : waiting.slice(0, end);
		waiting = end === -1 ? [] : waiting.slice(end);
		for (const taken of batch) waitingSize -= taken.size;
		return batch;
	}

	async function workOn(batch: readonly Waiting<Item, Done>[]): Promise<void> {
		try {
			const done = await work(batch.map(({ item }) => item));
			for (const [index, value] of done.entries()) batch[index]?.done.resolve(value);
		} catch (error) {
			for (const { done } of batch) done.reject(error);
		}
	}

	return {
		get waitingSize() {
			return waitingSize;
		},
		add(item) {
			const size = sizeOf(item);
			const done = Promise.withResolvers<Done>();
			waiting.push({ item, size, done });
			waitingSize += size;
			if (working < lines) {
				working++;
				void workOff();
			}
			return done.promise;
		},
	};
}
