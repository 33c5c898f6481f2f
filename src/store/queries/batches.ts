// Work for the database that many ask for at once, done together: whoever comes alone starts at once, and what comes
// while that is under way is the next batch.
//
//   waiting, by group ─▶ taken into a batch ─▶ at work ─▶ done
//           └─▶ waited too long: given up, and nothing was done
//
// Groups take turns, so that nobody waits because another has much to do; within a group the order of arrival holds. An
// item of size 1 is small, all others are large. They do not take each other's room: a batch has room for small items
// and the same again for large ones. Of a group one large item is at work at a time.

import type { Clock } from "../../ports.ts";

export interface Batches<Item, Done> {
	/** Of all items that wait, and not of those at work. */
	readonly waitingSize: number;
	waitingSizeOf(group: unknown): number;
	/** Undefined for an item that was given up, or that its batch did not answer. Rejects when its batch does. */
	add(item: Item): Promise<Done | undefined>;
	/** From now on nothing waits for longer. */
	shortenWait(maxWaitMs: number): void;
}

export interface BatchLimits<Item> {
	/** The room for small items, and that for large ones. A larger item has a batch's room for large ones to itself. */
	maxSize: number;
	/** 1 unless told. */
	sizeOf?: (item: Item) => number;
	/** All are one group unless told. */
	groupOf?: (item: Item) => unknown;
	/** Such a group is in nobody else's batch, and is kept to one line. None is unless told. */
	isApart?: (group: unknown) => boolean;
	/** How many batches may be at work at the same time: 1 unless told. */
	lines?: number;
	/** For ever unless told. */
	maxWaitMs?: number;
}

/** An item that is answered does not wait for the rest of its batch. */
export type Work<Item, Done> = (
	items: readonly Item[],
	answer: (index: number, done: Done | Promise<Done>) => void,
) => Promise<void>;

interface Waiting<Item, Done> {
	item: Item;
	size: number;
	sinceMs: number;
	done: PromiseWithResolvers<Done | undefined>;
}

interface Group<Item, Done> {
	/** In the order of arrival. */
	waiting: Waiting<Item, Done>[];
	waitingSize: number;
}

interface Batch<Item, Done> {
	taken: Waiting<Item, Done>[];
	/** The groups that have a large item in it. */
	largeOf: Set<unknown>;
	isApart: boolean;
}

export function createBatches<Item, Done>(
	clock: Clock,
	work: Work<Item, Done>,
	limits: BatchLimits<Item>,
): Batches<Item, Done> {
	const { maxSize, sizeOf = () => 1, groupOf = () => undefined, isApart = () => false, lines = 1 } = limits;
	let { maxWaitMs = Number.POSITIVE_INFINITY } = limits;
	/** Those that have something waiting; who is first has waited longest for a turn. */
	const groups = new Map<unknown, Group<Item, Done>>();
	let waitingSize = 0;
	let working = 0;
	/** Groups with a large item at work. */
	let largeOf: ReadonlySet<unknown> = new Set();
	let isApartAtWork = false;
	/** Set while something has to wait. */
	let cancelTimer: (() => void) | undefined;

	function startLine(): void {
		if (working === lines || waitingSize === 0) return;
		working++;
		void workOff();
	}

	/** Never rejects. */
	async function workOff(): Promise<void> {
		while (waitingSize > 0) {
			// A file database answers without ever going back to the event loop, and nobody else would be read meanwhile. So
			// what has arrived by now comes along.
			await clock.yieldLoop();
			const batch = takeBatch();
			setTimer();
			// What is left waits for something that is at work: whoever ends that goes on with it.
			if (batch.taken.length === 0) break;
			await workOn(batch);
		}
		working--;
	}

	function takeBatch(): Batch<Item, Done> {
		const apart = isApartAtWork ? undefined : groups.keys().find(isApart);
		const batch: Batch<Item, Done> = { taken: [], largeOf: new Set(), isApart: apart !== undefined };
		const taken = { small: 0, large: 0 };
		// Whoever gave an item goes to the end, where this walk comes by again: so they take turns.
		for (const [key, group] of groups) {
			const [next] = group.waiting;
			if (next === undefined || (apart === undefined ? isApart(key) : key !== apart)) continue;
			const kind = next.size > 1 ? "large" : "small";
			if (kind === "large" && (largeOf.has(key) || batch.largeOf.has(key))) continue;
			if (taken[kind] > 0 && taken[kind] + next.size > maxSize) continue;
			taken[kind] += next.size;
			if (kind === "large") batch.largeOf.add(key);
			batch.taken.push(next);
			removeFirst(key, group, next);
			if (groups.delete(key) && group.waiting.length > 0) groups.set(key, group);
		}
		return batch;
	}

	async function workOn({ taken, ...batch }: Batch<Item, Done>): Promise<void> {
		largeOf = largeOf.union(batch.largeOf);
		isApartAtWork ||= batch.isApart;
		try {
			await work(
				taken.map(({ item }) => item),
				(index, value) => taken[index]?.done.resolve(value),
			);
			for (const { done } of taken) done.resolve(undefined);
		} catch (error) {
			for (const { done } of taken) done.reject(error);
		}
		largeOf = largeOf.difference(batch.largeOf);
		if (batch.isApart) isApartAtWork = false;
		// A line that found nothing it could take may find something now.
		startLine();
	}

	function removeFirst(key: unknown, group: Group<Item, Done>, { size }: Waiting<Item, Done>): void {
		group.waiting.shift();
		group.waitingSize -= size;
		waitingSize -= size;
		if (group.waiting.length === 0) groups.delete(key);
	}

	function giveUpOld(): void {
		const latestMs = clock.nowMs() - maxWaitMs;
		for (const [key, group] of groups) {
			for (
				let [first] = group.waiting;
				first !== undefined && first.sinceMs <= latestMs;
				[first] = group.waiting
			) {
				removeFirst(key, group, first);
				first.done.resolve(undefined);
			}
		}
		cancelTimer = undefined;
		setTimer();
	}

	function setTimer(): void {
		if (waitingSize === 0) {
			cancelTimer?.();
			cancelTimer = undefined;
		} else if (cancelTimer === undefined && maxWaitMs < Number.POSITIVE_INFINITY) {
			const since = groups.values().map(({ waiting: [first] }) => first?.sinceMs ?? clock.nowMs());
			cancelTimer = clock.after(Math.min(...since) + maxWaitMs - clock.nowMs(), giveUpOld);
		}
	}

	return {
		get waitingSize() {
			return waitingSize;
		},
		waitingSizeOf: (group) => groups.get(group)?.waitingSize ?? 0,
		add(item) {
			const size = sizeOf(item);
			const done = Promise.withResolvers<Done | undefined>();
			const key = groupOf(item);
			const group = groups.get(key) ?? { waiting: [], waitingSize: 0 };
			group.waiting.push({ item, size, sinceMs: clock.nowMs(), done });
			group.waitingSize += size;
			groups.set(key, group);
			waitingSize += size;
			if (working === lines) setTimer();
			else startLine();
			return done.promise;
		},
		shortenWait(ms) {
			maxWaitMs = ms;
			cancelTimer?.();
			cancelTimer = undefined;
			setTimer();
		},
	};
}
