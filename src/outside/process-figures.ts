// What the system and the runtime tell of this process, under the names that dashboards for Node know.

import { collectDefaultMetrics, type Metric, Registry } from "prom-client";

/** Of the library's own collection these are worth their series. */
const NAMES = [
	"nodejs_gc_duration_seconds",
	"process_cpu_seconds_total",
	"nodejs_heap_size_used_bytes",
	"process_resident_memory_bytes",
	"process_open_fds",
	"process_start_time_seconds",
];

/** One, as the process is one, however many services are opened in it: the library's collection cannot be stopped. */
let registry: Registry | undefined;

/** Without those that this system does not tell. */
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
