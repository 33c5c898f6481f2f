// Prometheus' text format, version 0.0.4: what /metrics answers. Every series is read at the moment it is asked for;
// nothing is kept here.

import { Histogram } from "../domain/histogram.ts";

export type Labels = Readonly<Record<string, string>>;

export type Sample = readonly [labels: Labels, value: number | Histogram];

/** All series of one name. */
export interface Family {
	name: string;
	/** One sentence. */
	help: string;
	type: "counter" | "gauge" | "histogram";
	read(): Iterable<Sample>;
}

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function gauge(name: string, help: string, read: () => number | null): Family {
	return { name, help, type: "gauge", read: () => single(read()) };
}

export function counter(name: string, help: string, read: () => number): Family {
	return { name, help, type: "counter", read: () => single(read()) };
}

export function histogram(name: string, help: string, read: () => Histogram): Family {
	return { name, help, type: "histogram", read: () => [[{}, read()]] };
}

/** Null: there is nothing to say, and so no series. */
function single(value: number | null): readonly Sample[] {
	return value === null ? [] : [[{}, value]];
}

export function writeFamilies(families: readonly Family[]): string {
	const lines: string[] = [];
	for (const { name, help, type, read } of families) {
		lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);
		for (const [labels, value] of read()) {
			if (value instanceof Histogram) writeHistogram(lines, name, labels, value);
			else lines.push(`${name}${writeLabels(labels)} ${writeNumber(value)}`);
		}
	}
	return `${lines.join("\n")}\n`;
}

function writeHistogram(lines: string[], name: string, labels: Labels, value: Histogram): void {
	const counts = value.countsUpTo;
	for (const [index, count] of counts.entries()) {
		const le = writeNumber(value.bounds[index] ?? Number.POSITIVE_INFINITY);
		lines.push(`${name}_bucket${writeLabels({ ...labels, le })} ${count}`);
	}
	lines.push(`${name}_sum${writeLabels(labels)} ${writeNumber(value.sum)}`);
	lines.push(`${name}_count${writeLabels(labels)} ${counts.at(-1) ?? 0}`);
}

function writeLabels(labels: Labels): string {
	const written = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
	return written.length === 0 ? "" : `{${written.join(",")}}`;
}

function writeNumber(value: number): string {
	if (value === Number.POSITIVE_INFINITY) return "+Inf";
	return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function escapeHelp(text: string): string {
	return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabel(text: string): string {
	return escapeHelp(text).replaceAll('"', '\\"');
}
