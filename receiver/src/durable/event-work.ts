// Handles stored events, one event of a conversion at a time. Work that fails is tried again with growing
// pauses until it succeeds. Open events are stored in the shop's table. The memory of this process has only
// the events that are being handled, wait for their turn or have failed.

import { type Backoff, pauseAfter } from "../backoff.ts";
import type { PostbackEvent } from "../event.ts";
import { letProcessEnd } from "../let-process-end.ts";
import type { Claims } from "./claims.ts";

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
	readonly claims: Claims;
	readonly onError: (error: unknown, event?: PostbackEvent) => void;
	readonly maxConcurrent: number;
	readonly now: () => number;
};

export type EventWork = {
	/** Handles an event that was stored just now. Resolves after its first try, whether or not it succeeded. */
	handle(event: PostbackEvent): Promise<void>;
	/**
	 * Reads open events from the table and handles those that are not in memory yet. Events that were sent after
	 * `sentBeforeMs` are left out, because another process may be handling them. Resolves when each has been tried
	 * once, or when `stop` is called. Never rejects.
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
	/** Number of times in a row that another process had claimed the conversion. */
	waits: number;
	dueAtMs: number;
	/** Functions to call after the next try of the job. */
	onTried: (() => void)[];
};

const backoff: Backoff = { firstMs: 1_000, longestMs: 300_000 };
/** Pauses before an event is tried again whose conversion another process is working on. */
const busyBackoff: Backoff = { firstMs: 500, longestMs: 10_000 };
/** Number of open events that a sweep reads in addition to the failing events. */
const sweepSize = 500;
/**
 * Maximum number of failing events in memory, about 10 MB. If so much fails, no further events are read from the
 * table until some of them succeed.
 */
const mostFailing = 10_000;
/**
 * Time in milliseconds for which a finished event is remembered, so that it is not handled twice. A sweep may have
 * read the event from the table just before it was finished. It may also have handled a new event before the
 * answer was sent, after which `handle` is called for the same event.
 */
const rememberedMs = 60_000;

/** State of the work in this process. */
type Memory = {
	readonly settings: EventWorkSettings;
	/** Jobs that run, wait for their turn or have failed. The key is the event. */
	readonly jobs: Map<string, Job>;
	/** Jobs that are running, by conversion. */
	readonly busy: Map<string, Job>;
	/** Times at which events were finished, the oldest first. */
	readonly finished: Map<string, number>;
	/** Functions to call when no job is running. */
	readonly onIdle: (() => void)[];
	timer: ReturnType<typeof setTimeout> | undefined;
	isStopped: boolean;
};

export function createEventWork(settings: EventWorkSettings): EventWork {
	const memory: Memory = {
		settings,
		jobs: new Map(),
		busy: new Map(),
		finished: new Map(),
		onIdle: [],
		timer: undefined,
		isStopped: false,
	};
	const { jobs, busy } = memory;
	const findFailing = () => [...jobs.values()].filter(({ failures }) => failures > 0);
	return {
		async handle(event) {
			const tried = waitForTry(memory, addJob(memory, event));
			startDue(memory);
			await tried;
		},
		async sweep(sentBeforeMs) {
			for (let found = sweepSize; found >= sweepSize && jobs.size < mostFailing; ) {
				const tries = await readOpen(memory, sentBeforeMs);
				found = tries.length;
				startDue(memory);
				await Promise.all(tries);
			}
		},
		async retryNow() {
			const tries = findFailing().map((job) => {
				job.dueAtMs = 0;
				return waitForTry(memory, job);
			});
			startDue(memory);
			await Promise.all(tries);
		},
		async idle() {
			if (busy.size > 0) await new Promise<void>((resolve) => memory.onIdle.push(resolve));
		},
		listFailing: () =>
			findFailing().map(({ event, failures, lastError, dueAtMs }) => {
				return { event, failures, lastError, nextTryAtMs: dueAtMs };
			}),
		countWaiting: () => jobs.size - findFailing().length,
		stop() {
			memory.isStopped = true;
			clearTimeout(memory.timer);
			releaseWaiters(memory);
		},
	};
}

/** Returns the job of an event, or undefined if the event was finished just now or no work is started any more. */
function addJob({ settings, jobs, finished, isStopped }: Memory, event: PostbackEvent): Job | undefined {
	const key = keyOf(event);
	const finishedAtMs = finished.get(key) ?? Number.NEGATIVE_INFINITY;
	if (isStopped || finishedAtMs > settings.now() - rememberedMs) return undefined;
	const job = jobs.get(key) ?? {
		event,
		failures: 0,
		lastError: undefined,
		waits: 0,
		dueAtMs: 0,
		onTried: [],
	};
	jobs.set(key, job);
	return job;
}

/** Resolves after the next try of the job, or at once if there will be none. */
async function waitForTry({ isStopped }: Memory, job: Job | undefined): Promise<void> {
	if (job === undefined || isStopped) return;
	await new Promise<void>((resolve) => job.onTried.push(resolve));
}

/**
 * Reads open events and adds jobs for those that are not in memory yet. Resolves to a promise for the first try of
 * each of them. Never rejects.
 */
async function readOpen(memory: Memory, sentBeforeMs: number): Promise<Promise<void>[]> {
	const { settings, jobs } = memory;
	try {
		// Failing events stay at the beginning of the list, so the limit grows with their number.
		const open = await settings.listOpen(sweepSize + jobs.size);
		const unknown = open.filter((event) => !jobs.has(keyOf(event)));
		// An event without a readable time is handled at once.
		const old = unknown.filter((event) => !(Date.parse(event.sentAt) > sentBeforeMs));
		const added = old.flatMap((event) => addJob(memory, event) ?? []);
		// The promises are created now, because other work may start these jobs before the caller does.
		return added.map((job) => waitForTry(memory, job));
	} catch (error) {
		settings.onError(error);
		return [];
	}
}

/** Starts all jobs that are due, as far as the limits allow, and sets the timer for the next one. */
function startDue(memory: Memory): void {
	const { settings, jobs, busy, onIdle } = memory;
	const nowMs = settings.now();
	let nextDueAtMs = Number.POSITIVE_INFINITY;
	for (const job of jobs.values()) {
		if (memory.isStopped || busy.size >= settings.maxConcurrent) break;
		if (busy.has(job.event.conversionId)) continue;
		if (job.dueAtMs > nowMs) nextDueAtMs = Math.min(nextDueAtMs, job.dueAtMs);
		else void run(memory, job);
	}
	clearTimeout(memory.timer);
	if (!memory.isStopped && nextDueAtMs < Number.POSITIVE_INFINITY) {
		memory.timer = setTimeout(() => startDue(memory), nextDueAtMs - nowMs);
		letProcessEnd(memory.timer);
	}
	if (busy.size === 0) for (const resolve of onIdle.splice(0)) resolve();
}

/** Tries a job once. Never rejects. */
async function run(memory: Memory, job: Job): Promise<void> {
	const { settings, jobs, busy } = memory;
	const { event } = job;
	busy.set(event.conversionId, job);
	let isDone = false;
	// The function is asynchronous, so that an error that the shop's work throws at once does not end this job
	// while its caller is still starting others.
	const work = async () => {
		// The receiver may have been closed while the conversion was claimed.
		if (memory.isStopped) return;
		await settings.onEvent(event);
		await settings.markDone(event);
		isDone = true;
	};
	try {
		const claim = await settings.claims.during(event, work);
		job.waits = claim === "busy" ? job.waits + 1 : 0;
		if (claim === "busy") job.dueAtMs = settings.now() + pauseAfter(busyBackoff, job.waits, Math.random());
		if (claim === "done" || isDone) {
			jobs.delete(keyOf(event));
			rememberFinished(memory, event);
		}
	} catch (error) {
		job.failures++;
		job.lastError = error;
		job.dueAtMs = settings.now() + pauseAfter(backoff, job.failures, Math.random());
		settings.onError(error, event);
	}
	busy.delete(event.conversionId);
	for (const resolve of job.onTried.splice(0)) resolve();
	startDue(memory);
	if (memory.isStopped) releaseWaiters(memory);
}

/**
 * Resolves the promises that wait for jobs that are not started any more. The events of these jobs stay open
 * in the table.
 */
function releaseWaiters({ jobs, busy }: Memory): void {
	for (const job of jobs.values()) {
		if (busy.get(job.event.conversionId) === job) continue;
		for (const resolve of job.onTried.splice(0)) resolve();
	}
}

function rememberFinished({ settings, finished }: Memory, event: PostbackEvent): void {
	const nowMs = settings.now();
	for (const [oldest, finishedAtMs] of finished) {
		if (finishedAtMs > nowMs - rememberedMs) break;
		finished.delete(oldest);
	}
	finished.set(keyOf(event), nowMs);
}

function keyOf({ conversionId, event }: PostbackEvent): string {
	return JSON.stringify([conversionId, event]);
}
