// A line of the log as people read it on a terminal: when, how bad, what, and what else it says. The log itself is JSON.

import { readJson } from "../domain/json.ts";
import { showBytes } from "../domain/visible-text.ts";

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
