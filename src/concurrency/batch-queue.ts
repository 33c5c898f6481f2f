// Queue of items that are processed in batches. It chooses the items of the next batch.
//
// Groups take turns, so that a group with many items does not delay the others. Within a group, items stay in
// the order of their arrival. An item of size 1 is small, and all others are large. A batch has room for
// small items and the same room again for large ones, so neither kind keeps the other out.

export interface BatchRules<Item> {
	/**
	 * Maximum total size of the small items in a batch. The large items together may have this size, too. A
	 * single item that exceeds it is the only large item of its batch.
	 */
	maxSize: number;
	sizeOf(item: Item): number;
	groupOf(item: Item): unknown;
	/** Returns whether a group must not share a batch with other groups. */
	isIsolated(group: unknown): boolean;
}

export interface WaitingItem<Item, Done> {
	item: Item;
	size: number;
	sinceMs: number;
	done: PromiseWithResolvers<Done | undefined>;
}

export interface Batch<Item, Done> {
	items: readonly WaitingItem<Item, Done>[];
	groupsWithLargeItem: ReadonlySet<unknown>;
	isIsolated: boolean;
}

/** Properties of the batches in progress that restrict the next batch. */
export interface BatchesInProgress {
	groupsWithLargeItem: ReadonlySet<unknown>;
	hasIsolated: boolean;
}

export interface BatchQueue<Item, Done> {
	readonly size: number;
	sizeOfGroup(group: unknown): number;
	add(item: Item, nowMs: number): Promise<Done | undefined>;
	/**
	 * Removes and returns the items of the next batch. The batch is empty if all items must wait until a batch
	 * in progress ends.
	 */
	takeBatch(inProgress: BatchesInProgress): Batch<Item, Done>;
	/** Removes and returns the items that have waited since `latestMs` or longer. */
	removeWaitingSince(latestMs: number): readonly WaitingItem<Item, Done>[];
	/** Time at which the oldest waiting item was added, or undefined if none is waiting. */
	findOldestMs(): number | undefined;
}

interface Group<Item, Done> {
	items: WaitingItem<Item, Done>[];
	size: number;
}

export function createBatchQueue<Item, Done>(rules: BatchRules<Item>): BatchQueue<Item, Done> {
	/** Groups with waiting items. The first group has waited longest for its turn. */
	const groups = new Map<unknown, Group<Item, Done>>();
	let totalSize = 0;

	function removeFirst(key: unknown, group: Group<Item, Done>): void {
		const first = group.items.shift();
		if (first === undefined) return;
		group.size -= first.size;
		totalSize -= first.size;
		if (group.items.length === 0) groups.delete(key);
	}

	function moveToEnd(key: unknown, group: Group<Item, Done>): void {
		if (groups.delete(key)) groups.set(key, group);
	}

	return {
		get size() {
			return totalSize;
		},
		sizeOfGroup: (key) => groups.get(key)?.size ?? 0,
		add(item, nowMs) {
			const size = rules.sizeOf(item);
			const key = rules.groupOf(item);
			const done = Promise.withResolvers<Done | undefined>();
			const group = groups.get(key) ?? { items: [], size: 0 };
			group.items.push({ item, size, sinceMs: nowMs, done });
			group.size += size;
			groups.set(key, group);
			totalSize += size;
			return done.promise;
		},
		takeBatch(inProgress) {
			const isolated = inProgress.hasIsolated ? undefined : groups.keys().find(rules.isIsolated);
			const mayTake = (key: unknown) => (isolated === undefined ? !rules.isIsolated(key) : key === isolated);
			const items: WaitingItem<Item, Done>[] = [];
			const groupsWithLargeItem = new Set<unknown>();
			const sizes = { small: 0, large: 0 };
			// A group that has given an item moves to the end of the map, where this loop visits it again.
			for (const [key, group] of groups) {
				const [next] = group.items;
				if (next === undefined || !mayTake(key)) continue;
				const kind = next.size > 1 ? "large" : "small";
				// A group may have only one large item in progress at a time.
				const hasLargeItem = groupsWithLargeItem.has(key) || inProgress.groupsWithLargeItem.has(key);
				if (kind === "large" && hasLargeItem) continue;
				if (sizes[kind] > 0 && sizes[kind] + next.size > rules.maxSize) continue;
				sizes[kind] += next.size;
				if (kind === "large") groupsWithLargeItem.add(key);
				items.push(next);
				removeFirst(key, group);
				moveToEnd(key, group);
			}
			return { items, groupsWithLargeItem, isIsolated: isolated !== undefined };
		},
		removeWaitingSince(latestMs) {
			const removed: WaitingItem<Item, Done>[] = [];
			for (const [key, group] of groups) {
				for (const item of group.items.filter(({ sinceMs }) => sinceMs <= latestMs)) {
					removed.push(item);
					removeFirst(key, group);
				}
			}
			return removed;
		},
		findOldestMs() {
			let oldestMs: number | undefined;
			for (const { items } of groups.values()) {
				const sinceMs = items[0]?.sinceMs;
				if (sinceMs !== undefined && sinceMs < (oldestMs ?? Number.POSITIVE_INFINITY)) oldestMs = sinceMs;
			}
			return oldestMs;
		},
	};
}
