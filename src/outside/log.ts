// The log: JSON lines on standard error, each with what says which process wrote it. Where somebody sits before it, the
// same in words.

import { pino } from "pino";
import type { Log } from "../ports.ts";
import { createLineWriter, type LineWriter } from "./line-writer.ts";
import { sayLogLine } from "./log-line.ts";

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

const STANDARD_ERROR = 2;
/** What waits while nobody reads: some ten thousand lines. Beyond it lines are dropped, and the service goes on. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

export function createLog(
	level: LogLevel,
	identity: LogIdentity,
	isTerminal = process.stderr.isTTY === true,
): ProcessLog {
	const lines = openStandardError();
	const destination = isTerminal ? { write: (line: string) => lines.write(sayLogLine(line)) } : lines;
	const make = (atLeast: LogLevel): Log =>
		pino(
			{ level: atLeast, base: { ...identity }, timestamp: () => `,"time":"${new Date().toISOString()}"` },
			destination,
		);
	return { log: make(level), access: make("info"), droppedLines: lines.droppedLines };
}

/** One, as the process has one, however many services are opened in it after each other. */
let standardError: LineWriter | undefined;

function openStandardError(): LineWriter {
	if (standardError !== undefined) return standardError;
	// Not pino's own destination: synchronous, a pipe that nobody reads would hold up every callback and every answer;
	// not synchronous, it tries for ever to write its last lines to a pipe whose reader is gone, and the process never ends.
	const lines = createLineWriter(STANDARD_ERROR, MAX_WAITING_BYTES);
	process.on("exit", () => lines.writeRest());
	standardError = lines;
	return lines;
}
