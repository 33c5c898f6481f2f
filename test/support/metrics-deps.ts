// Provides metrics of a process that has just started, except for the values that a test sets.

import { NOTHING_READ } from "#core/store/queries/system.ts";
import type { WatchedState } from "../../src/watch/checks.ts";
import { createMetrics, type Metrics, type WatchedService } from "../../src/watch/metrics.ts";
import { START_MS } from "./clock.ts";

export const SOUND_STATE: WatchedState = {
	...NOTHING_READ,
	nowMs: START_MS,
	processesAtMs: START_MS,
	settings: {
		publicUrl: "https://ringback.example",
		trustedProxies: [],
		hasMail: true,
		allowsPrivateRanges: false,
		isOnFile: false,
		backupDays: 3,
	},
	host: "ringback.example",
	sightings: [],
	clockOffsetMs: null,
	disk: null,
	certificates: [],
};

export function makeMetrics(change: Pick<WatchedService, "clock"> & Partial<WatchedService>): Metrics {
	const metrics = createMetrics([]);
	metrics.describe({
		identity: { instance: "0a1b2c3d", role: "all", version: "1.2.3", schemaVersion: 4 },
		connections: () => ({ limit: 10, inUse: 3, idle: 2, waiting: 1 }),
		engineCounters: null,
		figures: () => null,
		state: () => SOUND_STATE,
		isReady: () => true,
		droppedLogLines: () => 0,
		...change,
	});
	return metrics;
}
