// `npm run bench [-- W1 W4] [-- --short]` measures the figures, prints a table and writes
// bench/results/latest.json. The two sides of a ratio alternate, and the best of several rounds counts. With
// --service and --rounds it compares two checkouts.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { endInOrder } from "../test/support/end-in-order.ts";
import { type Compared, compareCheckouts, formatComparison } from "./compare.ts";
import { describeMachine, machineLine } from "./machine.ts";
import { OWN_FOLDER } from "./service-process.ts";
import { formatTable, type NamedFigure } from "./table.ts";
import { type OpenedTools, openTools } from "./tools.ts";
import { isReached, type Size, type Workload } from "./workload.ts";
import { WORKLOADS } from "./workloads.ts";

const OTHER_CHECKOUT = WORKLOADS.filter(({ runsOwnSources }) => !runsOwnSources);

const HELP = `npm run bench [-- [WORKLOAD …] [--short] [--service DIR [--rounds N]]]

${WORKLOADS.map(({ name, title, measures }) => `  ${name.padEnd(9)} ${title.padEnd(12)} ${measures}`).join("\n")}

  --short            every workload in seconds: to compare before and after a change, not for a document
  --service DIR      measures the service of another checkout, which has its own node_modules. Its own
                     \`ringback migrate\` creates the databases. This checkout fills them and sends the load, so
                     both must know the same columns of the rows that are filled.
  --rounds N         with --service: measures both checkouts N times in turn, and prints for each figure both
                     medians, and the ratio of this checkout to the other one with its spread over the rounds
  --help

Without a name all of them run. The table is also written to bench/results/latest.json, and a comparison to
bench/results/compared.json.

--service is possible with ${OTHER_CHECKOUT.map(({ name }) => name).join(", ")}. The other workloads run
functions of this checkout themselves. To compare two commits:

  git worktree add ../before COMMIT && (cd ../before && npm ci)
  npm run bench -- W2 W6 mix contested --short --service ../before --rounds 12`;

process.exitCode = await main(process.argv.slice(2));

interface Wanted {
	workloads: readonly Workload[];
	size: Size;
	/** Folder of the checkout whose service is measured. */
	service: string;
	/** Number of rounds of a comparison, or null to measure one service. */
	rounds: number | null;
}

async function main(words: readonly string[]): Promise<number> {
	if (words.includes("--help") || words.includes("-h")) {
		process.stdout.write(`${HELP}\n`);
		return 0;
	}
	const wanted = readWords(words);
	if (typeof wanted === "string") {
		process.stderr.write(`${wanted}\n\n${HELP}\n`);
		return 2;
	}
	endInOrder();
	const tools = openTools(say);
	try {
		return await (wanted.rounds === null ? runAll(wanted, tools) : compareAll(wanted, wanted.rounds, tools));
	} finally {
		await tools.close();
	}
}

/** Parses the command line. Returns a sentence for the user if the arguments are wrong. */
function readWords(words: readonly string[]): Wanted | string {
	let parsed: ReturnType<typeof parseWords>;
	try {
		parsed = parseWords(words);
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
	const { values, positionals: names } = parsed;
	const unknown = names.filter((name) => !WORKLOADS.some((workload) => workload.name === name));
	if (unknown.length > 0) return `There is no ${unknown.join(", ")}.`;
	const { short, service, rounds } = values;
	const size = short ? "short" : "full";
	const selected = (all: readonly Workload[]) =>
		all.filter(({ name }) => names.length === 0 || names.includes(name));
	if (service === undefined) {
		if (rounds !== undefined) return "--rounds needs --service.";
		return { workloads: selected(WORKLOADS), size, service: OWN_FOLDER, rounds: null };
	}
	const folder = resolve(service);
	if (!existsSync(join(folder, "node_modules")))
		return `There is no checkout with node_modules in ${service}.`;
	const workloads = selected(OTHER_CHECKOUT);
	const ours = names.filter((name) => !workloads.some((workload) => workload.name === name));
	if (ours.length > 0) return `${ours.join(", ")} cannot measure another checkout.`;
	if (rounds === undefined) return { workloads, size, service: folder, rounds: null };
	const count = Number(rounds);
	if (!Number.isInteger(count) || count < 1) return "--rounds needs a whole number.";
	return { workloads, size, service: folder, rounds: count };
}

function parseWords(words: readonly string[]) {
	return parseArgs({
		args: [...words],
		allowPositionals: true,
		options: {
			short: { type: "boolean" },
			service: { type: "string" },
			rounds: { type: "string" },
		},
	});
}

/** Runs all workloads. If one fails, the figures of the others are still reported. */
async function runAll({ workloads, size, service }: Wanted, opened: OpenedTools): Promise<number> {
	const tools = opened.toolsFor(service);
	const figures: NamedFigure[] = [];
	let failed = 0;
	for (const workload of workloads) {
		const { name, title } = workload;
		const startedAt = performance.now();
		try {
			const found = await workload.run(size, { ...tools, say: (line) => say(`${name} ${line}`) });
			figures.push(...found.map((figure) => ({ workload: name, title, ...figure })));
			say(`${name} took ${Math.round((performance.now() - startedAt) / 1000)} s`);
		} catch (error) {
			failed++;
			sayFailed(name, error);
		}
	}
	const reached = figures.map((figure) => ({ ...figure, isReached: isReached(figure) }));
	const results = { figures: reached };
	report(opened, { file: "latest.json", size, service, table: formatTable(figures), results });
	return failed === 0 ? 0 : 1;
}

/**
 * Compares this checkout with another one. Figures that were measured are reported even if a workload failed.
 */
async function compareAll(
	{ workloads, size, service }: Wanted,
	rounds: number,
	opened: OpenedTools,
): Promise<number> {
	const compared: Compared[] = [];
	let failed = 0;
	const sides = { before: opened.toolsFor(service), now: opened.toolsFor(OWN_FOLDER) };
	for (let round = 1; round <= rounds; round++) {
		for (const workload of workloads) {
			say(`${workload.name} round ${round} of ${rounds}`);
			try {
				await compareCheckouts(workload, { size, round, sides }, compared);
			} catch (error) {
				failed++;
				sayFailed(workload.name, error);
			}
		}
	}
	const table = formatComparison(compared);
	report(opened, { file: "compared.json", size, service, table, results: { compared } });
	return failed === 0 ? 0 : 1;
}

interface Report {
	file: string;
	size: Size;
	service: string;
	table: string;
	results: object;
}

function report(opened: OpenedTools, { file, size, service, table, results }: Report): void {
	const machine = describeMachine(opened.postgresVersion());
	const form = size === "full" ? "" : `, ${size} form`;
	const other = service === OWN_FOLDER ? "" : `, service of ${service}`;
	process.stdout.write(`\n${machineLine(machine)}${form}${other}\n`);
	process.stdout.write(`${table}\n`);
	const folder = new URL("./results/", import.meta.url);
	mkdirSync(folder, { recursive: true });
	const all = { at: new Date().toISOString(), size, service, machine, ...results };
	writeFileSync(new URL(file, folder), `${JSON.stringify(all, null, "\t")}\n`);
}

function sayFailed(name: string, error: unknown): void {
	say(`${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
}

function say(line: string): void {
	process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
