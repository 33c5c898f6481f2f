// `npm run bench [-- W1 W4] [-- --short]` measures all figures in one run. The two sides of a ratio
// alternate, and the best of several rounds counts. It prints the table and writes bench/results/latest.json.
// It uses loopback only, and the number of requests is limited.

import { mkdirSync, writeFileSync } from "node:fs";
import { endInOrder } from "../test/support/end-in-order.ts";
import { describeMachine, machineLine } from "./machine.ts";
import { formatTable, type NamedFigure } from "./table.ts";
import { openTools } from "./tools.ts";
import { isReached, type Size, type Workload } from "./workload.ts";
import { WORKLOADS } from "./workloads.ts";

const HELP = `npm run bench [-- [WORKLOAD …] [--short]]

${WORKLOADS.map(({ name, title, measures }) => `  ${name.padEnd(4)} ${title.padEnd(12)} ${measures}`).join("\n")}

  --short            every workload in seconds: to compare before and after a change, not for a document
  --help

Without a name all of them run. The table is also written to bench/results/latest.json.`;

process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
	if (words.includes("--help") || words.includes("-h")) {
		process.stdout.write(`${HELP}\n`);
		return 0;
	}
	const names = words.filter((word) => word !== "--short");
	const unknown = names.filter((name) => !WORKLOADS.some((workload) => workload.name === name));
	if (unknown.length > 0) {
		process.stderr.write(`There is no ${unknown.join(", ")}.\n\n${HELP}\n`);
		return 2;
	}
	endInOrder();
	const wanted = WORKLOADS.filter(({ name }) => names.length === 0 || names.includes(name));
	return runAll(wanted, words.includes("--short") ? "short" : "full");
}

/** Runs all workloads. If one fails, the figures of the others are still reported. */
async function runAll(workloads: readonly Workload[], size: Size): Promise<number> {
	const tools = openTools(say);
	const figures: NamedFigure[] = [];
	let failed = 0;
	try {
		for (const workload of workloads) {
			const { name, title } = workload;
			const startedAt = performance.now();
			try {
				const found = await workload.run(size, { ...tools, say: (line) => say(`${name} ${line}`) });
				figures.push(...found.map((figure) => ({ workload: name, title, ...figure })));
				say(`${name} took ${Math.round((performance.now() - startedAt) / 1000)} s`);
			} catch (error) {
				failed++;
				say(`${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
			}
		}
	} finally {
		await tools.close();
	}
	const machine = describeMachine(tools.postgresVersion());
	process.stdout.write(`\n${machineLine(machine)}${size === "full" ? "" : `, ${size} form`}\n`);
	process.stdout.write(`${formatTable(figures)}\n`);
	const folder = new URL("./results/", import.meta.url);
	mkdirSync(folder, { recursive: true });
	const reached = figures.map((figure) => ({ ...figure, isReached: isReached(figure) }));
	const results = { at: new Date().toISOString(), size, machine, figures: reached };
	writeFileSync(new URL("latest.json", folder), `${JSON.stringify(results, null, "\t")}\n`);
	return failed === 0 ? 0 : 1;
}

function say(line: string): void {
	process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
