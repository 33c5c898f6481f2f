// Works off stored events. It handles one event of a conversion at a time, and tries failed work again with
// growing pauses until it succeeds. The shop's table is the only place where open events are kept for good. This
// memory holds those that are being handled, and those that have failed in this process.

import { type Backoff, pauseAfter } from "../backoff.ts";
import type { PostbackEvent } from "../event.ts";

/** An event whose work has failed. It is tried again until it succeeds. */
export type FailingEvent = {
	readonly event: PostbackEvent;
	/** Number of failures since the process started. */
	readonly failures: number;
	readonly lastError: unknown;
	/** Time in milliseconds of the next try. */
	readonly nextTryAtMs: number;
};

export type EventWorkSettings = {
	readonly listOpen: (limit: number) => readonly PostbackEvent[] | Promise<readonly PostbackEvent[]>;
	readonly markDone: (event: PostbackEvent) => unknown;
	readonly onEvent: (event: PostbackEvent) => unknown;
	readonly onError: (error: unknown, event?: PostbackEvent) => void;
	readonly maxConcurrent: number;
	readonly now: () => number;
};

export type EventWork = {
	/** Handles an event that was stored just now. Resolves after its first try, whether or not it succeeded. */
	handle(event: PostbackEvent): Promise<void>;
	/**
	 * Reads open events from the table and handles those that this process does not know yet, except events that
	 * were sent after `sentBeforeMs`. Resolves when they have been tried, or when this memory is stopped. Never
	 * rejects.
	 */
	sweep(sentBeforeMs: number): Promise<void>;
	/** Tries all failed work again now. Resolves when that is done. */
	retryNow(): Promise<void>;
	/** Resolves when no work is running. Events that wait for their next try do not count. */
	idle(): Promise<void>;
	listFailing(): readonly FailingEvent[];
	/** Number of events that are being handled or wait for their turn. */
	countWaiting(): number;
	/** Starts no further work. Work that is running continues. */
	stop(): void;
};

type Job = {
	readonly event: PostbackEvent;
	failures: number;
	lastError: unknown;
	dueAtMs: number;
	/** Called after the next try. */
	onTried: (() => void)[];
};

const backoff: Backoff = { firstMs: 1_000, longestMs: 300_000 };
/** Number of open events that a sweep reads besides those that are failing. */
const sweepSize = 500;
/**
 * Maximum number of failing events in memory, about 10 MB. If so much fails, no further events are read from the
 * table until some of them succeed.
 */
const mostFailing = 10_000;
/**
 * Time in milliseconds for which a finished event is remembered, so that it is not handled twice. A sweep may
 * have read it just before it was finished, and may have handled it before its answer was sent.
 */
const rememberedMs = 60_000;

export function createEventWork(settings: EventWorkSettings): EventWork {
	const { listOpen, markDone, onEvent, onError, maxConcurrent, now } = settings;
	const jobs = new Map<string, Job>();
	/** Times at which events were finished, the oldest first. */
	const finished = new Map<string, number>();
	/** Conversions of which an event is being handled. */
	const busy = new Set<string>();
	const onIdle: (() => void)[] = [];
	let timer: ReturnType<typeof setTimeout> | undefined;
	let isStopped = false;

	/** Returns the job of an event, or undefined if the event was finished just now or no work is started. */
	function add(event: PostbackEvent): Job | undefined {
		const key = keyOf(event);
		const finishedAtMs = finished.get(key) ?? Number.NEGATIVE_INFINITY;
		if (isStopped || finishedAtMs > now() - rememberedMs) return undefined;
		const job = jobs.get(key) ?? { event, failures: 0, lastError: undefined, dueAtMs: 0, onTried: [] };
		jobs.set(key, job);
		return job;
	}

	/** Resolves after the next try of a job. */
	function waitForTry(job: Job): Promise<void> {
		return new Promise((resolve) => job.onTried.push(resolve));
	}

	/** Starts all jobs that are due, as far as the limits allow, and sets the timer for the next one. */
	function startDue(): void {
		let nextDueAtMs = Number.POSITIVE_INFINITY;
		for (const job of jobs.values()) {
			if (isStopped || busy.size >= maxConcurrent) break;
			if (busy.has(job.event.conversionId)) continue;
			if (job.dueAtMs > now()) nextDueAtMs = Math.min(nextDueAtMs, job.dueAtMs);
			else void run(job);
		}
		clearTimeout(timer);
		if (!isStopped && nextDueAtMs < Number.POSITIVE_INFINITY) {
			timer = setTimeout(startDue, nextDueAtMs - now());
			letProcessEnd(timer);
		}
		if (busy.size === 0) for (const resolve of onIdle.splice(0)) resolve();
	}

	/** Tries a job once. Never rejects. */
	async function run(job: Job): Promise<void> {
		const { event } = job;
		busy.add(event.conversionId);
		try {
			await onEvent(event);
			await markDone(event);
			jobs.delete(keyOf(event));
			remember(keyOf(event));
		} catch (error) {
			job.failures++;
			job.lastError = error;
			job.dueAtMs = now() + pauseAfter(backoff, job.failures, Math.random());
			onError(error, event);
		}
		busy.delete(event.conversionId);
		for (const resolve of job.onTried.splice(0)) resolve();
		startDue();
	}

	function remember(key: string): void {
		for (const [oldest, finishedAtMs] of finished) {
			if (finishedAtMs > now() - rememberedMs) break;
			finished.delete(oldest);
		}
		finished.set(key, now());
	}

	/** Reads open events and returns new jobs for those that this process does not know yet. */
	async function readFresh(sentBeforeMs: number): Promise<Job[]> {
		try {
			// Failing events stay at the beginning of the list, so the limit grows with their number.
			const open = await listOpen(sweepSize + jobs.size);
			const unknown = open.filter((event) => !jobs.has(keyOf(event)));
			// An event without a readable time is handled at once.
			const old = unknown.filter((event) => !(Date.parse(event.sentAt) > sentBeforeMs));
			return old.flatMap((event) => add(event) ?? []);
		} catch (error) {
			onError(error);
			return [];
		}
	}

	const listFailing = () => [...jobs.values()].filter(({ failures }) => failures > 0);

	return {
		async handle(event) {
			const job = add(event);
			if (job === undefined) return;
			const tried = waitForTry(job);
			startDue();
			await tried;
		},
		async sweep(sentBeforeMs) {
			for (let found = sweepSize; found >= sweepSize && jobs.size < mostFailing; ) {
				const fresh = await readFresh(sentBeforeMs);
				found = fresh.length;
				const tried = Promise.all(fresh.map(waitForTry));
				startDue();
				await tried;
			}
		},
		async retryNow() {
			const failing = listFailing();
			for (const job of failing) job.dueAtMs = 0;
			const tried = Promise.all(isStopped ? [] : failing.map(waitForTry));
			startDue();
			await tried;
		},
		idle: () =>
			busy.size === 0 ? Promise.resolve() : new Promise((resolve) => onIdle.push(resolve)),
		listFailing: () =>
			listFailing().map(({ event, failures, lastError, dueAtMs }) => ({
				event,
				failures,
				lastError,
				nextTryAtMs: dueAtMs,
			})),
		countWaiting: () => jobs.size - listFailing().length,
		stop() {
			isStopped = true;
			clearTimeout(timer);
			// Nobody waits for work that is not started any more. Its events stay open in the table.
			for (const { event, onTried } of jobs.values()) {
				if (!busy.has(event.conversionId)) for (const resolve of onTried.splice(0)) resolve();
			}
		},
	};
}

/** Lets the process end although the timer is set, if the runtime has such a function. */
export function letProcessEnd(timer: unknown): void {
	if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
	if (typeof timer.unref === "function") timer.unref();
}

function keyOf({ conversionId, event }: PostbackEvent): string {
	return JSON.stringify([conversionId, event]);
}
