// This process: what it is, how its event loop and its memory do, and its connections to the database. The names that
// begin with process_ and nodejs_ are those that dashboards for Node know.

import { SECOND_MS } from "../domain/time.ts";
import type { ProcessFigures } from "../ports.ts";
import type { Connections } from "../store/store.ts";
import { counter, type Family, gauge, histogram } from "./exposition.ts";

export interface ProcessIdentity {
	/** Drawn at its start; also in every line of its log. */
	instance: string;
	role: string;
	version: string;
	schemaVersion: number;
}

export function processFamilies(
	figures: ProcessFigures,
	identity: ProcessIdentity,
	droppedLogLines: () => number,
): readonly Family[] {
	const { instance, role, version, schemaVersion } = identity;
	return [
		{
			name: "ringback_build_info",
			help: "Always 1; its labels say what runs",
			type: "gauge",
			read: () => [[{ version, runtime: figures.runtime, role, process: instance }, 1]],
		},
		gauge(
			"ringback_schema_version",
			"Version of the database's schema when this process started",
			() => schemaVersion,
		),
		histogram(
			"ringback_event_loop_lag_seconds",
			"How late a timer came that rings ten times a second",
			() => figures.loopLags,
		),
		{
			name: "nodejs_gc_duration_seconds",
			help: "Time that collections of garbage took, by kind",
			type: "histogram",
			read: () => [...figures.collections].map(([kind, times]) => [{ kind }, times]),
		},
		gauge("nodejs_heap_size_used_bytes", "Memory in use by JavaScript", figures.heapBytes),
		gauge(
			"process_resident_memory_bytes",
			"Memory of the process that is in the machine's",
			figures.residentBytes,
		),
		counter("process_cpu_seconds_total", "Processor time, of user and system", figures.cpuSeconds),
		gauge("process_open_fds", "Open files and sockets, where the system tells", figures.openFiles),
		gauge("process_start_time_seconds", "When the process started", () => figures.startedAtMs / SECOND_MS),
		counter(
			"ringback_log_lines_dropped_total",
			"Lines of the log that were dropped because nobody read them in time; must stay 0",
			droppedLogLines,
		),
	];
}

/** SQLite has one connection, which whoever asks something waits for. */
export function connectionFamilies(read: () => Connections): readonly Family[] {
	return [
		{
			name: "ringback_database_connections",
			help: "Connections to the database that this process has, by state: in_use or idle",
			type: "gauge",
			read() {
				const { inUse, idle } = read();
				return [
					[{ state: "in_use" }, inUse],
					[{ state: "idle" }, idle],
				];
			},
		},
		gauge(
			"ringback_database_connections_limit",
			"As many connections to the database as this process may have",
			() => read().limit,
		),
		gauge(
			"ringback_database_waiting",
			"Requests of this process that wait for a free connection to the database",
			() => read().waiting,
		),
	];
}
