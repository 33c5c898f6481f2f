// The log: JSON lines on standard error, each with what says which process wrote it.

import { destination, pino } from "pino";
import type { Log } from "../ports.ts";

export type LogLevel = "info" | "warn" | "error" | "silent";

/** In every line. */
export interface LogIdentity {
	/** Drawn at the start: two processes on one machine, or one before and after a restart, are told apart by it. */
	instance: string;
	role: string;
	version: string;
}

export interface ProcessLog {
	log: Log;
	/** For the access log, which has a switch of its own and no level. */
	access: Log;
	/** Lines that were dropped because nobody read them in time. */
	droppedLines(): number;
}

/** What waits while nobody reads: some ten thousand lines. Beyond it lines are dropped, and the service goes on. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

export function createLog(level: LogLevel, identity: LogIdentity): ProcessLog {
	// Not synchronous: a pipe that nobody reads would hold up every callback and every answer. When the process ends, by
	// itself or by an error that nobody caught, what waits is written first; a line is on its way within microseconds.
	const stream = destination({ fd: 2, sync: false, maxLength: MAX_WAITING_BYTES });
	let dropped = 0;
	stream.on("drop", () => {
		dropped++;
	});
	const make = (atLeast: LogLevel): Log =>
		pino(
			{ level: atLeast, base: { ...identity }, timestamp: () => `,"time":"${new Date().toISOString()}"` },
			stream,
		);
	return { log: make(level), access: make("info"), droppedLines: () => dropped };
}
