// `npm test`: every test file of the repository by Node's own runner, or the files that are named behind `npm test --`;
// options of the runner are handed on to it. Files of the folders below share processes, because loading the same
// sources takes longer than most of them do. Run alone, a file does the same.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MINUTE_MS } from "../src/domain/time.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** What a failed process is named by: it imports its files, one a line. */
const GROUPS = join(ROOT, "node_modules/.cache/test-groups");
const TEST_FILES = ["src/**/*.test.ts", "receiver/**/*.test.ts", "test/**/*.test.ts"];
/** For a test, a suite or a hook: the longest takes four minutes on two busy cores. */
const TEST_BOUND_MS = 8 * MINUTE_MS;
/** For a process, of one file or of several: more than a test has, so that the test is named first. */
const FILE_BOUND_MS = 10 * MINUTE_MS;
/** For what no timer of its own can end, such as a loop: then the runner names the files that it still waits for. */
const RUN_BOUND_MS = 45 * MINUTE_MS;

/**
 * Nothing in them changes what another file of the same process sees. The runner takes files in the order of their
 * names, and these before the others: so the one that takes longest by far stands here, too, and first.
 */
const SHARED: readonly (readonly [name: string, files: string, processes: number])[] = [
	["browser", "test/browser/*.test.ts", 1],
	["domain", "src/domain/*.test.ts", 1],
	// Not cli: it sets V8's own bounds.
	["use-cases-and-api", "src/{!(cli|domain|imports|jobs|outside|web)/,}*.test.ts", 2],
	["web", "src/web/**/*.test.ts", 4],
	["store", "test/contract/store-*.test.ts", 4],
	["accounts-and-sections", "test/contract/{accounts,section}-*.test.ts", 3],
	// Apart from those that listen: a listener puts its own Request in place of Node's.
	["intake", "test/contract/intake-*.test.ts", 1],
	["services", "test/contract/{clean,clock,network,odd,pixel,signed,silent}-*.test.ts", 1],
	["notices-openapi-retention", "test/{notices,openapi,retention}/*.test.ts", 3],
	["commands", "test/command/*.test.ts", 3],
	["files-and-outside", "src/{imports,jobs,outside}/*.test.ts", 2],
	["receiver", "receiver/src/**/*.test.ts", 1],
	["receiver-client", "test/receiver-client/*.test.ts", 1],
];

const asked = Map.groupBy(process.argv.slice(2), (word) => (word.startsWith("-") ? "options" : "files"));
const runner = spawn(
	process.execPath,
	[
		`--import=${new URL("./support/bound-file.ts", import.meta.url)}?ms=${FILE_BOUND_MS}`,
		"--test",
		"--test-global-setup=test/global-setup.ts",
		// Two thirds of them wait for something at any time, on the two cores that are meant.
		"--test-concurrency=6",
		`--test-timeout=${TEST_BOUND_MS}`,
		...(asked.get("options") ?? []),
		...(asked.get("files") ?? groupFiles()),
	],
	{ cwd: ROOT, stdio: "inherit", timeout: RUN_BOUND_MS, killSignal: "SIGINT" },
);
// The runner ends what it has begun, and then this one does. A terminal's Ctrl-C reaches the runner by itself, too.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => runner.kill(signal));
const [code] = await once(runner, "exit");
process.exitCode = code ?? 1;

function groupFiles(): string[] {
	const alone = new Set(find(TEST_FILES));
	mkdirSync(GROUPS, { recursive: true });
	const groups = SHARED.flatMap(([name, pattern, processes], index) => {
		const files = find([pattern]);
		for (const file of files) alone.delete(file);
		return Array.from({ length: processes }, (_, process) => {
			const path = join(GROUPS, `${String(index).padStart(2, "0")}-${name}-${process + 1}.mjs`);
			const own = files.filter((_file, at) => at % processes === process);
			const urls = own.map((file) => pathToFileURL(join(ROOT, file)).href);
			writeFileSync(path, urls.map((url) => `import ${JSON.stringify(url)};\n`).join(""));
			return path;
		});
	});
	return [...groups, ...alone];
}

function find(patterns: readonly string[]): string[] {
	return globSync(patterns, { cwd: ROOT, exclude: ["**/node_modules/**"] }).sort();
}
