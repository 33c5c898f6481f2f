// Virtual time. Two kinds of things wait on it: timers of service processes, and occasions (a request arrives,
// somebody acts, a fault begins). A stretch in which only timers would fire and find nothing to do is leapt
// over, as if the machine had been suspended: the timers fire late, shortly before the next occasion.

export interface Owner {
	/** What a dead owner was waiting for never happens. */
	isAlive: boolean;
	/** What comes up for a stalled owner waits until then. */
	stalledUntilMs: number;
}

interface Item {
	atMs: number;
	/** Among equal times the first set comes first. */
	order: number;
	owner: Owner | null;
	run: () => void;
	isCancelled: boolean;
}

export interface Watcher {
	/** Called between any two things that happen; throws when something is broken. */
	check(): void;
	/** The next moment at which the store has something for the processes to do. */
	nextInStoreMs(): number;
	/** Hears of every leap, and says how long before its aim it ends: less than LEAP_WORTH_MS. */
	onLeap(): number;
}

/** A shorter leap saves nothing: the engines' own poll is five seconds. */
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

	/** With an owner, it is dropped when that dies and waits while that stalls. */
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
			if (owner !== null && owner.stalledUntilMs > this.#nowMs) {
				// The same item: whoever set it may still cancel it.
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
		const item: Item = { atMs, order: this.#order++, owner, run, isCancelled: false };
		heap.push(item);
		return () => {
			item.isCancelled = true;
		};
	}
}

/** Nothing in a simulation waits for the real world, so one turn lets every promise get as far as it can. */
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
