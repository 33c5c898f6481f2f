// Provides a log that stores its lines in memory, so that tests can check what was logged and what must not be.

import { inspect } from "node:util";
import type { Log } from "#core/ports.ts";

export interface LogLine {
	level: "info" | "warn" | "error";
	fields: object;
	message: string;
}

export interface KeptLog extends Log {
	readonly lines: LogLine[];
	/**
	 * Returns all lines as text, including nested fields and errors, to search for secrets that must never be
	 * logged.
	 */
	text(): string;
}

export function createLog(): KeptLog {
	const lines: LogLine[] = [];
	const keep = (level: LogLine["level"]) => (fields: object, message: string) => {
		lines.push({ level, fields, message });
	};
	return {
		lines,
		info: keep("info"),
		warn: keep("warn"),
		error: keep("error"),
		text: () => lines.map((line) => inspect(line, { depth: Number.POSITIVE_INFINITY })).join("\n"),
	};
}
