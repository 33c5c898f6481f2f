// The log: JSON lines on standard error, each with what says which process wrote it. Where somebody sits before it, the
// same in words.

import { pino } from "pino";
import { readJson } from "../domain/json.ts";
import { SECOND_MS } from "../domain/time.ts";
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
	const log = foldRepeats(make(level), (delayMs, run) => setTimeout(run, delayMs).unref());
	return { log, access: make("info"), droppedLines: lines.droppedLines };
}

/** So many kinds at a time; whatever is beyond is told each time. */
const MAX_TROUBLES = 100;

/**
 * The same trouble, such as a full disk, is one line with its stack, and from then on one a second with how often it
 * happened (`times`) and what the last one was about. A second without it, and the next one is told in full again.
 */
export function foldRepeats(log: Log, after: (delayMs: number, run: () => void) => unknown): Log {
	/** By kind: how often since it was last told, and how to tell it. */
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
			// Numbers and names in it may differ from one call to the next.
			const words = said.replace(/\d+|"[^"]*"|'[^']*'/g, "");
			const kind = [level, message, type, code, words, placeOf(err)].join(" ");
			const tell = (times: number) =>
				log[level]({ ...fields, err: { type, message: said, code }, times }, message);
			const known = troubles.get(kind);
			if (known === undefined) log[level](fields, message);
			if (known === undefined && troubles.size >= MAX_TROUBLES) return;
			troubles.set(kind, { times: known === undefined ? 0 : known.times + 1, tell });
			if (known === undefined) tellLater(kind);
		};
	return {
		info: (fields, message) => log.info(fields, message),
		warn: fold("warn"),
		error: fold("error"),
	};
}

/** Where our own code failed, or called what failed: two troubles in the same words are told apart by it. */
function placeOf({ stack = "" }: Error): string | undefined {
	const frames = stack.split("\n").filter((line) => /^ +at /.test(line));
	return frames.find((line) => !/node_modules|node:/.test(line)) ?? frames[0];
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
