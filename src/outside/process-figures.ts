// Metrics of the operating system and the runtime about this process, under the names that dashboards for
// Node expect.

import { collectDefaultMetrics, type Metric, Registry } from "prom-client";

/** Names of the metrics that are used. prom-client collects more. */
const NAMES = [
	"nodejs_gc_duration_seconds",
	"process_cpu_seconds_total",
	"nodejs_heap_size_used_bytes",
	"process_resident_memory_bytes",
	"process_open_fds",
	"process_start_time_seconds",
];

/**
 * Registry that the whole process shares. prom-client cannot stop collecting, and a process may open several services.
 */
let registry: Registry | undefined;

/** Returns the metrics that this system provides. */
export function findProcessFigures(): readonly Metric[] {
	if (registry === undefined) {
		registry = new Registry();
		collectDefaultMetrics({
			register: registry,
			gcDurationBuckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
		});
	}
	return NAMES.flatMap((name) => registry?.getSingleMetric(name) ?? []);
}
