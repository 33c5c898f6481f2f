// The log: JSON lines on standard error, each with what says which process wrote it. Where somebody sits before it, the
// same in words.

import { pino } from "pino";
import { readJson } from "../domain/json.ts";
import { showBytes } from "../domain/visible-text.ts";
import type { Log } from "../ports.ts";
import { createLineWriter, type LineWriter } from "./line-writer.ts";

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

// A line as people read it on a terminal: when, how bad, what, and what else it says.

/** Pino's numbers. */
const WARN = 40;
const ERROR = 50;
const HOUR_AT = 11;
const SECOND_END = 19;

/** What is no line of the log stays as it is. */
export function sayLogLine(json: string): string {
	const line = readJson(json);
	if (!isRecord(line)) return json;
	// Which process it is, the terminal says by itself.
	const { level, time, msg, err, instance: _instance, role: _role, version: _version, ...rest } = line;
	if (typeof msg !== "string") return `${showSafely(json.trimEnd())}\n`;
	const at = String(time).slice(HOUR_AT, SECOND_END);
	const more = Object.entries(rest).map(([name, value]) => `  ${name}=${sayValue(value)}`);
	return `${showSafely(`${at}Z ${sayLevel(level)}${msg}${more.join("")}${sayError(err)}`)}\n`;
}

function sayLevel(level: unknown): string {
	if (typeof level !== "number" || level < WARN) return "";
	return level < ERROR ? "warning: " : "error: ";
}

function sayValue(value: unknown): string {
	return typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

function sayError(error: unknown): string {
	if (error === undefined) return "";
	if (!isRecord(error)) return `\n${String(error)}`;
	const { stack, message, code } = error;
	return `\n${String(stack ?? message)}${code === undefined ? "" : `\ncode ${String(code)}`}`;
}

/** Some of it came from outside, and a terminal obeys control characters. */
function showSafely(text: string): string {
	// Set in: a line break in it must not look like the next line of the log.
	return showBytes(Buffer.from(text)).replaceAll("\n", "\n    ");
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null;
}
