// `npm run bench [-- W1] [-- --quick]`: every figure is a ratio taken in one run, the two sides interleaved,
// best of the rounds. Prints the table and writes bench/results/latest.json. Loopback only, bounded in count.

import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { measureLists } from "./l1-lists.ts";
import { measureDrain } from "./w1-drain.ts";
import type { Figure, Scale } from "./workload.ts";

const WORKLOADS: Readonly<
	Record<string, (scale: Scale, progress: (line: string) => void) => Promise<Figure[]>>
> = {
	W1: measureDrain,
	L1: measureLists,
};

const HELP = `npm run bench [-- [WORKLOAD …] [--quick]]

  W1       100,000 due deliveries over 100 programmes drain to one fast receiver, on SQLite and PostgreSQL,
           beside a bare loop that signs and posts without a store
  L1       every page over a million conversions and two million deliveries, on SQLite and PostgreSQL: the
           time until the page is there
  --quick  a tenth of the rows, one round: to see that it runs, not how fast it is`;

const wanted = process.argv.slice(2);
const names = wanted.filter((word) => !word.startsWith("-"));
const unknown = wanted.filter(
	(word) => WORKLOADS[word] === undefined && !["--quick", "--help", "-h"].includes(word),
);

if (wanted.includes("--help") || wanted.includes("-h")) process.stdout.write(`${HELP}\n`);
else if (unknown.length > 0) {
	process.stderr.write(`There is no ${unknown.join(", ")}.\n\n${HELP}\n`);
	process.exitCode = 2;
} else await runAll(names.length > 0 ? names : Object.keys(WORKLOADS), wanted.includes("--quick"));

async function runAll(names: readonly string[], isQuick: boolean): Promise<void> {
	const scale: Scale = isQuick
		? { deliveries: 10_000, conversions: 100_000, rounds: 1 }
		: { deliveries: 100_000, conversions: 1_000_000, rounds: 3 };
	const figures: Figure[] = [];
	for (const name of names) {
		const measure = WORKLOADS[name];
		if (measure !== undefined) figures.push(...(await measure(scale, showProgress)));
	}
	const machine = `${availableParallelism()} cores, ${cpus()[0]?.model.trim() ?? "unknown"}, Node ${process.version}`;
	process.stdout.write(`\n${machine}\n${formatTable(figures)}\n`);
	const folder = new URL("./results/", import.meta.url);
	mkdirSync(folder, { recursive: true });
	const results = { at: new Date().toISOString(), machine, scale, figures };
	writeFileSync(new URL("latest.json", folder), `${JSON.stringify(results, null, "\t")}\n`);
}

function showProgress(line: string): void {
	process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}

function formatTable(figures: readonly Figure[]): string {
	const rows = figures.map(formatFigure);
	const table = [["", "what", "figure", "ratio", "reach"], ...rows];
	const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
	return table
		.map((row) =>
			row
				.map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
				.join("  "),
		)
		.join("\n");
}

function formatFigure(figure: Figure): string[] {
	const { workload, what } = figure;
	if (figure.kind === "wait") {
		return [workload, what, `${figure.ms.toFixed(1)} ms`, "", `≤ ${figure.reachMs} ms`];
	}
	const { perSecond, ratio, reach } = figure;
	return [
		workload,
		what,
		`${Math.round(perSecond).toLocaleString("en")} a second`,
		ratio === null ? "" : ratio.toFixed(2),
		reach === null ? "" : `≥ ${reach.toFixed(2)}`,
	];
}
