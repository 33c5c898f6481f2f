// Processes many small items together, for example all sales that one transaction stores. A single item is
// processed at once, and the items that arrive meanwhile form the next batch.
//
//   add ─▶ waiting, by group ─▶ in a batch ─▶ processed ─▶ answered
//               └─▶ waited too long: answered with undefined, and nothing was done

import type { Clock } from "#core/ports.ts";
import { type Batch, type BatchRules, createBatchQueue } from "./batch-queue.ts";
import { createSingleFlight } from "./single-flight.ts";

export interface Batcher<Item, Done> {
	/** Total size of the waiting items, without the items that are being processed. */
	readonly waitingSize: number;
	waitingSizeOf(group: unknown): number;
	/**
	 * Adds an item. Resolves to its answer, or to undefined if it waited too long or its batch did not answer
	 * it. Rejects if the batch fails.
	 */
	add(item: Item): Promise<Done | undefined>;
	setMaxWait(maxWaitMs: number): void;
}

export interface BatcherOptions<Item> extends Pick<BatchRules<Item>, "maxSize"> {
	/** Returns the size of an item. By default, every item has size 1. */
	sizeOf?: BatchRules<Item>["sizeOf"];
	/** Returns the group of an item. By default all items belong to one group. */
	groupOf?: BatchRules<Item>["groupOf"];
	/**
	 * Returns whether a group is isolated. By default none is. At most one batch of an isolated group is in
	 * progress at a time.
	 */
	isIsolated?: BatchRules<Item>["isIsolated"];
	/** Maximum number of batches in progress at the same time. The default is 1. */
	workers?: number;
	/** Maximum time for which an item waits. By default there is no limit. */
	maxWaitMs?: number;
}

/** Processes one batch. An item that is answered early does not wait for the rest of its batch. */
export type ProcessBatch<Item, Done> = (
	items: readonly Item[],
	answer: (index: number, done: Done | Promise<Done>) => void,
) => Promise<void>;

export function createBatcher<Item, Done>(
	clock: Pick<Clock, "monotonicMs" | "after" | "yieldLoop">,
	processBatch: ProcessBatch<Item, Done>,
	options: BatcherOptions<Item>,
): Batcher<Item, Done> {
	const { sizeOf = () => 1, groupOf = () => undefined, isIsolated = () => false } = options;
	let { maxWaitMs = Number.POSITIVE_INFINITY } = options;
	const queue = createBatchQueue<Item, Done>({ maxSize: options.maxSize, sizeOf, groupOf, isIsolated });
	const workers = Array.from({ length: options.workers ?? 1 }, () =>
		createSingleFlight({ run: processWaiting, onError: rejectWaiting }),
	);
	const inProgress = { groupsWithLargeItem: new Set<unknown>(), hasIsolated: false };
	/** Cancels the timer that is set for the item that has waited longest. Undefined if no timer is set. */
	let cancelTimer: (() => void) | undefined;

	function startWorker(): void {
		if (queue.size > 0) workers.find(({ isRunning }) => !isRunning)?.request();
	}

	async function processWaiting(): Promise<void> {
		while (queue.size > 0) {
			// SQLite answers synchronously, so without this pause no other request would be read meanwhile. Items
			// that arrive during the pause become part of the batch.
			await clock.yieldLoop();
			const batch = queue.takeBatch(inProgress);
			setTimer();
			// The remaining items must wait for a batch in progress. The worker of that batch takes them
			// afterwards.
			if (batch.items.length === 0) return;
			await process(batch);
		}
	}

	async function process(batch: Batch<Item, Done>): Promise<void> {
		const { items, groupsWithLargeItem, isIsolated: isOfIsolated } = batch;
		inProgress.groupsWithLargeItem = inProgress.groupsWithLargeItem.union(groupsWithLargeItem);
		inProgress.hasIsolated ||= isOfIsolated;
		try {
			await processBatch(
				items.map(({ item }) => item),
				(index, value) => items[index]?.done.resolve(value),
			);
			for (const { done } of items) done.resolve(undefined);
		} catch (error) {
			for (const { done } of items) done.reject(error);
		}
		inProgress.groupsWithLargeItem = inProgress.groupsWithLargeItem.difference(groupsWithLargeItem);
		if (isOfIsolated) inProgress.hasIsolated = false;
		// A worker that had to leave items waiting may be able to take them now.
		startWorker();
	}

	/**
	 * Rejects all waiting items. Only a programming error in an option leads here, and the callers must not
	 * wait without end.
	 */
	function rejectWaiting(error: unknown): void {
		for (const { done } of queue.removeWaitingSince(Number.POSITIVE_INFINITY)) done.reject(error);
	}

	function endLongWaits(): void {
		for (const { done } of queue.removeWaitingSince(clock.monotonicMs() - maxWaitMs)) done.resolve(undefined);
		resetTimer();
	}

	function setTimer(): void {
		if (queue.size === 0) {
			cancelTimer?.();
			cancelTimer = undefined;
		} else if (cancelTimer === undefined && maxWaitMs < Number.POSITIVE_INFINITY) {
			const nowMs = clock.monotonicMs();
			cancelTimer = clock.after((queue.findOldestMs() ?? nowMs) + maxWaitMs - nowMs, endLongWaits);
		}
	}

	function resetTimer(): void {
		cancelTimer?.();
		cancelTimer = undefined;
		setTimer();
	}

	return {
		get waitingSize() {
			return queue.size;
		},
		waitingSizeOf: queue.sizeOfGroup,
		add(item) {
			const answered = queue.add(item, clock.monotonicMs());
			if (workers.every(({ isRunning }) => isRunning)) setTimer();
			else startWorker();
			return answered;
		},
		setMaxWait(ms) {
			maxWaitMs = ms;
			resetTimer();
		},
	};
}
