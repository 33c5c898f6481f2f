// The service log. It consists of JSON lines on standard error, each with the identity of its process. On a
// terminal the same lines are formatted for people.

import { pino } from "pino";
import { readJson } from "#core/domain/json.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import { showBytes } from "#core/domain/visible-text.ts";
import type { Log } from "#core/ports.ts";
import { createLineWriter, type LineWriter } from "./line-writer.ts";

export type LogLevel = "info" | "warn" | "error" | "silent";

/** Fields that are part of every line. */
export interface LogIdentity {
	/**
	 * Random id of the process. It distinguishes two processes on one machine, and the process before a restart from the
	 * one after it.
	 */
	instance: string;
	role: string;
	version: string;
}

export interface ProcessLog {
	log: Log;
	/** Access log, which is turned on by a setting of its own and has no level. */
	access: Log;
	/** Returns the number of lines that were dropped because nobody read them in time. */
	droppedLines(): number;
}

const STANDARD_ERROR = 2;
/**
 * Maximum size of the lines that wait for a reader, about ten thousand lines. Further lines are dropped, and
 * the service continues.
 */
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
	const log = foldRepeats(make(level), (delayMs, run) => setTimeout(run, delayMs).unref());
	return { log, access: make("info"), droppedLines: lines.droppedLines };
}

/**
 * Maximum number of different errors whose repetitions are counted at a time. Beyond this number, every
 * occurrence is logged.
 */
const MAX_TROUBLES = 100;

/**
 * Combines repeated errors. The first occurrence, for example of a full disk, is logged with its stack. After that,
 * one line a second has the number of occurrences (`times`) and the latest details. After a second without the error,
 * the next occurrence is logged in full again.
 */
export function foldRepeats(log: Log, after: (delayMs: number, run: () => void) => unknown): Log {
	/** Repeated errors by kind, with the number of occurrences since the last line about each. */
	const troubles = new Map<string, { times: number; tell(times: number): void }>();
	const tellLater = (kind: string): unknown =>
		after(SECOND_MS, () => {
			const { times, tell } = troubles.get(kind) ?? { times: 0 };
			if (tell === undefined || times === 0) return void troubles.delete(kind);
			tell(times);
			troubles.set(kind, { times: 0, tell });
			tellLater(kind);
		});
	const fold =
		(level: "warn" | "error"): Log["error"] =>
		(fields, message) => {
			const err: unknown = "err" in fields ? fields.err : undefined;
			if (!(err instanceof Error)) return log[level](fields, message);
			const { name: type, message: said } = err;
			const code = "code" in err ? err.code : undefined;
			// Numbers and quoted names are removed from the message, because they may differ between two occurrences of the
			// same error.
			const words = said.replace(/\d+|"[^"]*"|'[^']*'/g, "");
			const kind = [level, message, type, code, words, placeOf(err)].join(" ");
			const tell = (times: number) =>
				log[level]({ ...fields, err: { type, message: said, code }, times }, message);
			const trouble = troubles.get(kind);
			if (trouble === undefined) log[level](fields, message);
			if (trouble === undefined && troubles.size >= MAX_TROUBLES) return;
			troubles.set(kind, { times: trouble === undefined ? 0 : trouble.times + 1, tell });
			if (trouble === undefined) tellLater(kind);
		};
	return {
		info: (fields, message) => log.info(fields, message),
		warn: fold("warn"),
		error: fold("error"),
	};
}

/** Returns the first stack frame in our own code, which distinguishes two errors with the same message. */
function placeOf({ stack = "" }: Error): string | undefined {
	const frames = stack.split("\n").filter((line) => /^ +at /.test(line));
	return frames.find((line) => !/node_modules|node:/.test(line)) ?? frames[0];
}

/**
 * The only writer of this process. A process has one standard error, even if several services are opened in
 * it one after another.
 */
let standardError: LineWriter | undefined;

function openStandardError(): LineWriter {
	if (standardError !== undefined) return standardError;
	// pino's own destination cannot be used. In synchronous mode, a pipe that nobody reads would block every
	// callback and answer. In asynchronous mode, it tries forever to write the last lines to a pipe whose
	// reader is gone, and the process never ends.
	const lines = createLineWriter(STANDARD_ERROR, MAX_WAITING_BYTES);
	process.on("exit", () => lines.writeRest());
	standardError = lines;
	return lines;
}

/** pino's numbers for levels. */
const WARN = 40;
const ERROR = 50;
const HOUR_AT = 11;
const SECOND_END = 19;

/** Formats a JSON line for people. Text that is not a log line is returned unchanged. */
export function sayLogLine(json: string): string {
	const line = readJson(json);
	if (!isRecord(line)) return json;
	// The identity of the process is left out, because a person at the terminal sees only one process.
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

/** Escapes control characters, because part of the text comes from outside and a terminal would obey them. */
function showSafely(text: string): string {
	// Line breaks are indented, so that they cannot imitate the next line of the log.
	return showBytes(Buffer.from(text)).replaceAll("\n", "\n    ");
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null;
}
