// What the metrics are made from, besides what a test is about: a process that has just started and done nothing.

import type { MetricsDeps } from "../../src/api/metrics.ts";
import { createRequestCounts } from "../../src/api/request-metrics.ts";
import { Histogram } from "../../src/domain/histogram.ts";
import { START_MS } from "./clock.ts";

export function makeMetricsDeps(change: Pick<MetricsDeps, "clock"> & Partial<MetricsDeps>): MetricsDeps {
	return {
		identity: { instance: "0a1b2c3d", role: "all", version: "1.2.3", schemaVersion: 4 },
		process: {
			startedAtMs: START_MS,
			runtime: "v26.0.0",
			loopLags: new Histogram([1]),
			collections: new Map(),
			residentBytes: () => 1,
			heapBytes: () => 1,
			cpuSeconds: () => 1,
			openFiles: () => null,
		},
		connections: () => ({ limit: 10, inUse: 3, idle: 2, waiting: 1 }),
		requests: createRequestCounts(),
		engineCounters: null,
		figures: () => null,
		choreReports: () => [],
		clockOffsetMs: () => null,
		deliveryPause: () => null,
		droppedLogLines: () => 0,
		...change,
	};
}
