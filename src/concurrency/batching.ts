// Processes many small items together, such as the sales that one transaction stores. An item that comes alone starts at
// once, and those that arrive while it is processed are the next batch.
//
//   add ─▶ waiting, by group ─▶ in a batch ─▶ processed ─▶ answered
//               └─▶ waited too long: answered with undefined, and nothing was done

import type { Clock } from "../ports.ts";
import { type Batch, type BatchRules, createBatchQueue } from "./batch-queue.ts";
import { createSingleFlight } from "./single-flight.ts";

export interface Batcher<Item, Done> {
	/** Total size of the waiting items, without those that are being processed. */
	readonly waitingSize: number;
	waitingSizeOf(group: unknown): number;
	/**
	 * Resolves to the item's answer, or to undefined if the item waited too long or its batch did not answer it. Rejects
	 * if its batch fails.
	 */
	add(item: Item): Promise<Done | undefined>;
	/** Changes how long items may wait from now on. */
	setMaxWait(maxWaitMs: number): void;
}

export interface BatcherOptions<Item> extends Pick<BatchRules<Item>, "maxSize"> {
	/** 1 by default. */
	sizeOf?: BatchRules<Item>["sizeOf"];
	/** All items belong to a single group by default. */
	groupOf?: BatchRules<Item>["groupOf"];
	/** No group is isolated by default. At most one batch of isolated groups is in progress at a time. */
	isIsolated?: BatchRules<Item>["isIsolated"];
	/** Maximum number of batches in progress at the same time; 1 by default. */
	workers?: number;
	/** Unlimited by default. */
	maxWaitMs?: number;
}

/** Processes one batch. An item that is answered does not wait for the rest of its batch. */
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
	/** Cancels the timer that ends the wait of the oldest item; undefined while there is no timer. */
	let cancelTimer: (() => void) | undefined;

	function startWorker(): void {
		if (queue.size > 0) workers.find(({ isRunning }) => !isRunning)?.request();
	}

	async function processWaiting(): Promise<void> {
		while (queue.size > 0) {
			// SQLite answers without a round of the event loop. Without this one, no other request would be read meanwhile. Items
			// that arrive in this round are part of the batch.
			await clock.yieldLoop();
			const batch = queue.takeBatch(inProgress);
			setTimer();
			// The remaining items wait for a batch in progress, and its worker continues with them.
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
		// A worker that found no item it could take may find one now.
		startWorker();
	}

	/** Reaching this is a programming error in one of the options. Nobody must wait for ever because of it. */
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
