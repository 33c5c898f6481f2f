// A log that keeps its lines, so that tests can ask what was said, and what must not have been.

import { inspect } from "node:util";
import type { Log } from "../../src/ports.ts";

export interface LogLine {
	level: "info" | "warn" | "error";
	fields: object;
	message: string;
}

export interface KeptLog extends Log {
	readonly lines: LogLine[];
	/** Everything, nested fields and errors included: to search for what must never be logged. */
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
