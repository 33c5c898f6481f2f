// Measures how busy this process is and how late its event loop runs.

import { readFileSync } from "node:fs";
import { Histogram } from "prom-client";
import { SECOND_MS } from "#core/domain/time.ts";
import type { Load } from "#core/ports.ts";

/**
 * Interval of the measuring timer. It is finer than any decision that depends on it and costs next to
 * nothing.
 */
const BEAT_MS = 100;
/**
 * Lateness that does not count. A loop that is busy with answers or with a run of the engine is late by less
 * than this, and requests are not noticeably slower.
 */
const HARDLY_LATE_MS = 100;
/** File on Linux with the time that the main thread ran on a core and the time that it waited for one. */
const SCHEDULING_FILE = "/proc/self/schedstat";
const NANOSECONDS_A_MS = 1_000_000;

export interface WatchedLoad extends Load {
	/** Lateness of each tick of the timer, in seconds. */
	readonly lags: Histogram;
	stop(): void;
}

/** Creates the measurement. Each call of `busyShare` returns the share of time since the previous call. */
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
		// The overdue tick is included, so that a caller also sees a stall that has not ended yet.
		lateMs: () => lateMs + latenessMs(),
		stop: () => clearInterval(beat),
	};
}

/**
 * Reads the event loop's utilization and the main thread's scheduling figures. The loop reports itself as idle from
 * the moment it waits until it runs again. When all cores are busy, most of that time is spent waiting for a core,
 * which only the system's figures show.
 */
function readBusy(): {
	loop: ReturnType<typeof performance.eventLoopUtilization>;
	wantedMs: number;
	atMs: number;
} {
	return { loop: performance.eventLoopUtilization(), wantedMs: readWantedMs(), atMs: performance.now() };
}

/** Returns the time spent running or waiting for a core, or NaN if the system does not report it. */
function readWantedMs(): number {
	try {
		const [ranNs, waitedNs] = readFileSync(SCHEDULING_FILE, "latin1").split(" ");
		return (Number(ranNs) + Number(waitedNs)) / NANOSECONDS_A_MS;
	} catch {
		// The system is not Linux, or /proc is not mounted.
		return Number.NaN;
	}
}
