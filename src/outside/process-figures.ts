// What the system and the runtime tell of this process. Counted as it happens or read when somebody asks; nothing runs
// for it in between.

import { readdirSync } from "node:fs";
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { Histogram } from "../domain/histogram.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { ProcessFigures } from "../ports.ts";
import type { WatchedLoad } from "./load.ts";

/** Linux: an entry for each file, socket or pipe that is open. */
const OPEN_FILES_FOLDER = "/proc/self/fd";
const MICROSECONDS_A_SECOND = 1_000_000;
/** Seconds. */
const COLLECTION_BOUNDS: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1];

const COLLECTION_KINDS: ReadonlyMap<number, string> = new Map([
	[constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
	[constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
	[constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
	[constants.NODE_PERFORMANCE_GC_WEAKCB, "weak callbacks"],
]);

export interface WatchedProcess extends ProcessFigures {
	stop(): void;
}

export function watchProcess(load: Pick<WatchedLoad, "lags">, startedAtMs: number): WatchedProcess {
	const collections = new Map(
		[...COLLECTION_KINDS.values()].map((kind) => [kind, new Histogram(COLLECTION_BOUNDS)]),
	);
	const observer = new PerformanceObserver((list) => {
		for (const entry of list.getEntries()) {
			collections.get(kindOf(entry))?.observe(entry.duration / SECOND_MS);
		}
	});
	observer.observe({ entryTypes: ["gc"] });
	return {
		startedAtMs,
		runtime: process.version,
		loopLags: load.lags,
		collections,
		residentBytes: () => process.memoryUsage.rss(),
		heapBytes: () => getHeapStatistics().used_heap_size,
		cpuSeconds() {
			const { user, system } = process.cpuUsage();
			return (user + system) / MICROSECONDS_A_SECOND;
		},
		openFiles,
		stop: () => observer.disconnect(),
	};
}

function kindOf(entry: PerformanceEntry): string {
	const detail: unknown = "detail" in entry ? entry.detail : null;
	const kind = typeof detail === "object" && detail !== null && "kind" in detail ? detail.kind : undefined;
	return typeof kind === "number" ? (COLLECTION_KINDS.get(kind) ?? "") : "";
}

function openFiles(): number | null {
	try {
		// Without the one that reading the folder takes.
		return readdirSync(OPEN_FILES_FOLDER).length - 1;
	} catch {
		// Not Linux, or without /proc.
		return null;
	}
}
