// Runs virtual time. Two kinds of items wait for their time: timers of service processes, and occasions (a request
// arrives, a person acts, a fault begins). If only timers without work would fire for a while, time leaps ahead, as if
// the machine had been suspended. The timers then fire late, shortly before the next occasion.

export interface Owner {
	/** False if the process is dead. Its items are then dropped. */
	isAlive: boolean;
	/** Time until which the owner is stalled. Items of the owner wait until then. */
	stalledUntilMs: number;
	/** Total time for which the owner's machine was suspended. The owner's timers stood still in that time. */
	suspendedMs: number;
}

interface Item {
	atMs: number;
	/** Number that grows with each item. Among items for the same time, the lower number runs first. */
	order: number;
	owner: Owner | null;
	/** Value of the owner's `suspendedMs` for which `atMs` was computed. */
	suspendedMs: number;
	run: () => void;
	isTimer: boolean;
	isCancelled: boolean;
}

export interface Watcher {
	/** Called between any two items. Throws if a promise is broken. */
	check(): void;
	/** Returns the time of the next work in the database. */
	nextInStoreMs(): number;
	/** Called at every leap. Returns how long before its target the leap ends, which must be less than LEAP_WORTH_MS. */
	onLeap(): number;
}

/** Minimum length of a leap. Shorter leaps save nothing, because the engines poll every five seconds. */
const LEAP_WORTH_MS = 15_000;

export class Timeline {
	readonly #timers = new Heap();
	readonly #occasions = new Heap();
	#nowMs: number;
	#order = 0;

	constructor(startMs: number) {
		this.#nowMs = startMs;
	}

	get nowMs(): number {
		return this.#nowMs;
	}

	setTimer(owner: Owner, delayMs: number, run: () => void): () => void {
		return this.#put(this.#timers, owner, this.#nowMs + Math.max(0, delayMs), run);
	}

	/**
	 * Adds an occasion. An occasion with an owner is dropped when the owner dies, and waits while the owner
	 * stalls.
	 */
	setOccasion(atMs: number, run: () => void, owner: Owner | null = null): void {
		this.#put(this.#occasions, owner, Math.max(this.#nowMs, atMs), run);
	}

	async liveUntil(untilMs: number, watcher: Watcher): Promise<void> {
		await settle();
		for (;;) {
			watcher.check();
			const item = this.#takeNext(untilMs, watcher);
			if (item === undefined) break;
			if (item.isCancelled || item.owner?.isAlive === false) continue;
			const { owner } = item;
			if (item.isTimer && owner !== null && owner.suspendedMs > item.suspendedMs) {
				item.atMs += owner.suspendedMs - item.suspendedMs;
				item.suspendedMs = owner.suspendedMs;
				this.#timers.push(item);
				continue;
			}
			if (owner !== null && owner.stalledUntilMs > this.#nowMs) {
				// The same item is added again with a new time, because the code that created it may still cancel it.
				item.atMs = owner.stalledUntilMs;
				this.#occasions.push(item);
				continue;
			}
			item.run();
			await settle();
		}
		this.#nowMs = untilMs;
	}

	#takeNext(untilMs: number, watcher: Watcher): Item | undefined {
		const occasionAtMs = this.#occasions.firstAtMs;
		const timerAtMs = this.#timers.firstAtMs;
		if (Math.min(occasionAtMs, timerAtMs) > untilMs) return undefined;
		if (timerAtMs < occasionAtMs && Math.min(occasionAtMs, untilMs) - this.#nowMs > LEAP_WORTH_MS) {
			const leapToMs = Math.min(occasionAtMs, untilMs, watcher.nextInStoreMs());
			if (leapToMs - this.#nowMs > LEAP_WORTH_MS) this.#nowMs = leapToMs - watcher.onLeap();
		}
		const item = timerAtMs < occasionAtMs ? this.#timers.pop() : this.#occasions.pop();
		if (item !== undefined) this.#nowMs = Math.max(this.#nowMs, item.atMs);
		return item;
	}

	#put(heap: Heap, owner: Owner | null, atMs: number, run: () => void): () => void {
		const { suspendedMs } = owner ?? { suspendedMs: 0 };
		const isTimer = heap === this.#timers;
		const item: Item = { atMs, order: this.#order++, owner, suspendedMs, run, isTimer, isCancelled: false };
		heap.push(item);
		return () => {
			item.isCancelled = true;
		};
	}
}

/**
 * Waits until all promises have settled. Nothing in a simulation waits for the real world, so one turn of the
 * event loop is enough.
 */
function settle(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}

class Heap {
	readonly #items: Item[] = [];

	get firstAtMs(): number {
		return this.#items[0]?.atMs ?? Number.POSITIVE_INFINITY;
	}

	push(item: Item): void {
		const items = this.#items;
		let at = items.push(item) - 1;
		while (at > 0) {
			const parentAt = (at - 1) >> 1;
			const parent = items[parentAt];
			if (parent === undefined || isBefore(parent, item)) break;
			items[at] = parent;
			at = parentAt;
		}
		items[at] = item;
	}

	pop(): Item | undefined {
		const items = this.#items;
		const first = items[0];
		const last = items.pop();
		if (first === undefined || last === undefined || items.length === 0) return first;
		let at = 0;
		for (;;) {
			const leftAt = 2 * at + 1;
			const left = items[leftAt];
			if (left === undefined) break;
			const right = items[leftAt + 1];
			const [childAt, child] =
				right !== undefined && isBefore(right, left) ? [leftAt + 1, right] : [leftAt, left];
			if (isBefore(last, child)) break;
			items[at] = child;
			at = childAt;
		}
		items[at] = last;
		return first;
	}
}

function isBefore(a: Item, b: Item): boolean {
	return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
