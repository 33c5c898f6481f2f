// Structured log lines on standard error, so that standard output stays for what a command has to say.

import { destination, pino } from "pino";
import type { Log } from "../ports.ts";

export type LogLevel = "info" | "warn" | "error" | "silent";

export function createLog(level: LogLevel): Log {
	// Synchronous: the last line before a crash is the one that is needed.
	return pino(
		{ level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` },
		destination({ fd: 2, sync: true }),
	);
}
