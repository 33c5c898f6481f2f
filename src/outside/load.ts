// How hard it is for this process to keep up: how busy it is, and how late its event loop is.

import { readFileSync } from "node:fs";
import { Histogram } from "prom-client";
import { SECOND_MS } from "../domain/time.ts";
import type { Load } from "../ports.ts";

/** Ten times a second: finer than anything that is decided by it, and next to no work. */
const BEAT_MS = 100;
/** A loop that is busy with answers or a pass is late by less; a request does not feel it. */
const HARDLY_LATE_MS = 100;
/** Linux: how long the main thread has run on a core, and how long it was ready to and had to wait for one. */
const SCHEDULING_FILE = "/proc/self/schedstat";
const NANOSECONDS_A_MS = 1_000_000;

export interface WatchedLoad extends Load {
	/** Seconds by which each beat was late. */
	readonly lags: Histogram;
	stop(): void;
}

/** Each `busyShare` answers for the time since the one before. */
export function createLoad(): WatchedLoad {
	let last = readBusy();
	let lastBeatMs = performance.now();
	let lateMs = 0;
	const lags = new Histogram({
		name: "ringback_event_loop_lag_seconds",
		help: "How late a timer came that rings ten times a second",
		buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
		registers: [],
	});

	const overdueMs = (): number => performance.now() - lastBeatMs - BEAT_MS;
	const latenessMs = (): number => {
		const lagMs = overdueMs();
		return lagMs > HARDLY_LATE_MS ? lagMs : 0;
	};
	const beat = setInterval(() => {
		lags.observe(Math.max(0, overdueMs()) / SECOND_MS);
		lateMs += latenessMs();
		lastBeatMs = performance.now();
	}, BEAT_MS).unref();

	return {
		lags,
		busyShare() {
			const present = readBusy();
			const { utilization } = performance.eventLoopUtilization(present.loop, last.loop);
			const share = (present.wantedMs - last.wantedMs) / (present.atMs - last.atMs);
			last = present;
			return Math.min(1, Math.max(utilization, Number.isFinite(share) ? share : 0));
		},
		// With the beat that is overdue: whoever asks in the middle of a stall is told of it.
		lateMs: () => lateMs + latenessMs(),
		stop: () => clearInterval(beat),
	};
}

/**
 * The loop's own account calls it idle from the moment it waits for something until it runs again. When all cores are
 * taken, that is mostly waiting for a core; so what the system says of the thread is asked, too.
 */
function readBusy(): {
	loop: ReturnType<typeof performance.eventLoopUtilization>;
	wantedMs: number;
	atMs: number;
} {
	return { loop: performance.eventLoopUtilization(), wantedMs: readWantedMs(), atMs: performance.now() };
}

/** Running and waiting for a core, together. Not a number where the system does not tell. */
function readWantedMs(): number {
	try {
		const [ranNs, waitedNs] = readFileSync(SCHEDULING_FILE, "latin1").split(" ");
		return (Number(ranNs) + Number(waitedNs)) / NANOSECONDS_A_MS;
	} catch {
		// Not Linux, or without /proc.
		return Number.NaN;
	}
}
