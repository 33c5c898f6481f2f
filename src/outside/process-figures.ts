// What the system and the runtime tell of this process, under the names that dashboards for Node know. Counted as it
// happens or read when somebody asks. Of prom-client's own collection these few are worth their series, and it cannot be
// stopped.

import { readdirSync } from "node:fs";
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { Counter, Gauge, Histogram, type Metric } from "prom-client";
import { SECOND_MS } from "../domain/time.ts";

/** Linux: an entry for each file, socket or pipe that is open. */
const OPEN_FILES_FOLDER = "/proc/self/fd";
const MICROSECONDS_A_SECOND = 1_000_000;

const COLLECTION_KINDS: ReadonlyMap<unknown, string> = new Map([
	[constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
	[constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
	[constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
	[constants.NODE_PERFORMANCE_GC_WEAKCB, "weak callbacks"],
]);

export interface WatchedProcess {
	metrics: readonly Metric[];
	stop(): void;
}

export function watchProcess(startedAtMs: number): WatchedProcess {
	const registers: [] = [];
	const collections = new Histogram({
		name: "nodejs_gc_duration_seconds",
		help: "Time that collections of garbage took, by kind",
		labelNames: ["kind"],
		buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
		registers,
	});
	const observer = new PerformanceObserver((list) => {
		for (const entry of list.getEntries()) {
			collections.observe({ kind: kindOf(entry) }, entry.duration / SECOND_MS);
		}
	});
	observer.observe({ entryTypes: ["gc"] });
	const gauge = (name: string, help: string, read: () => number): Gauge => {
		const metric: Gauge = new Gauge({ name, help, registers, collect: () => metric.set(read()) });
		return metric;
	};
	const cpu: Counter = new Counter({
		name: "process_cpu_seconds_total",
		help: "Processor time, of user and system",
		registers,
		collect() {
			const { user, system } = process.cpuUsage();
			cpu.reset();
			cpu.inc((user + system) / MICROSECONDS_A_SECOND);
		},
	});
	return {
		metrics: [
			collections,
			cpu,
			gauge(
				"nodejs_heap_size_used_bytes",
				"Memory in use by JavaScript",
				() => getHeapStatistics().used_heap_size,
			),
			gauge("process_resident_memory_bytes", "Memory of the process that is in the machine's", () =>
				process.memoryUsage.rss(),
			),
			gauge("process_open_fds", "Open files and sockets, where the system tells", countOpenFiles),
			gauge("process_start_time_seconds", "When the process started", () => startedAtMs / SECOND_MS),
		],
		stop: () => observer.disconnect(),
	};
}

function kindOf(entry: PerformanceEntry): string {
	const detail: unknown = "detail" in entry ? entry.detail : null;
	const kind = typeof detail === "object" && detail !== null && "kind" in detail ? detail.kind : undefined;
	return COLLECTION_KINDS.get(kind) ?? "";
}

/** Not a number where the system does not tell. */
function countOpenFiles(): number {
	try {
		// Without the one that reading the folder takes.
		return readdirSync(OPEN_FILES_FOLDER).length - 1;
	} catch {
		// Not Linux, or without /proc.
		return Number.NaN;
	}
}
