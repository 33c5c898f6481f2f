// `npm test` runs every test file of the repository with Node's test runner, or only the files named after
// `npm test --`. Options are passed to the runner. Files of the groups below share processes, because loading the same
// sources takes longer than running most of these files. A file behaves the same when it runs alone.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MINUTE_MS } from "#core/domain/time.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Folder of the generated files that import the test files of a group. The runner names a failed process by them. */
const GROUPS_FOLDER = join(ROOT, "node_modules/.cache/test-groups");
const TEST_FILES = ["src/**/*.test.ts", "receiver/**/*.test.ts", "test/**/*.test.ts"];
/** Timeout of a test, a suite or a hook. The longest takes ten minutes on two very busy cores. */
const TEST_TIMEOUT_MS = 15 * MINUTE_MS;
/** Timeout of a process. It is longer than that of a test, so that a test that hangs is named first. */
const FILE_TIMEOUT_MS = 20 * MINUTE_MS;
/** Timeout of the whole run, for what no timer in a process can end, such as an endless loop. */
const RUN_TIMEOUT_MS = 45 * MINUTE_MS;

interface Group {
	name: string;
	patterns: readonly string[];
	processes: number;
}

/**
 * Files that may share a process, because none of them changes what another one sees. The runner starts files in the
 * order of their names, groups first. The browser tests take longest by far, so they are the first group.
 */
const GROUPS: readonly Group[] = [
	{ name: "browser", patterns: ["test/browser/*.test.ts"], processes: 1 },
	{ name: "domain", patterns: ["src/{core,modules/*}/domain/*.test.ts"], processes: 1 },
	// Without cli, which sets V8's own limits.
	{
		name: "use-cases-and-api",
		patterns: [
			"src/*.test.ts",
			"src/!(cli|outside)/*.test.ts",
			"src/core/!(domain|web)/*.test.ts",
			"src/modules/!(jobs)/{api,mail,use-cases}/*.test.ts",
		],
		processes: 2,
	},
	{ name: "web", patterns: ["src/{core,modules/*}/web/**/*.test.ts"], processes: 4 },
	{ name: "store", patterns: ["test/contract/store-*.test.ts", "test/upgrade/*.test.ts"], processes: 4 },
	{
		name: "accounts-and-sections",
		patterns: ["test/contract/accounts-*.test.ts", "test/contract/section-*.test.ts"],
		processes: 3,
	},
	{
		name: "partners-and-refunds",
		patterns: ["archive", "partner", "rates", "refunds", "sale"].map(
			(subject) => `test/contract/${subject}*.test.ts`,
		),
		processes: 2,
	},
	// Separate from files that listen on a port, because a listener replaces the global Request by its own class.
	{ name: "intake", patterns: ["test/contract/intake-*.test.ts"], processes: 1 },
	{
		name: "services",
		patterns: ["clean", "network", "odd", "pixel", "signed", "silent"].map(
			(subject) => `test/contract/${subject}-*.test.ts`,
		),
		processes: 1,
	},
	{
		name: "notices-openapi-retention",
		patterns: ["notices", "openapi", "privacy", "retention"].map((suite) => `test/${suite}/*.test.ts`),
		processes: 3,
	},
	// Without under-load, which derives keys from passphrases at their full cost.
	{ name: "backups", patterns: ["test/backup/!(under-load).test.ts"], processes: 2 },
	// Without the files that run commands of the documents.
	{ name: "documents", patterns: ["test/docs/!(operations|quick)*.test.ts"], processes: 1 },
	{ name: "commands", patterns: ["test/command/*.test.ts"], processes: 3 },
	{
		name: "jobs-and-outside",
		patterns: ["src/modules/jobs/use-cases/*.test.ts", "src/outside/*.test.ts"],
		processes: 2,
	},
	{ name: "receiver", patterns: ["receiver/src/**/*.test.ts"], processes: 1 },
	{ name: "receiver-client", patterns: ["test/receiver-client/*.test.ts"], processes: 1 },
];

const words = Map.groupBy(process.argv.slice(2), (word) => (word.startsWith("-") ? "options" : "files"));
const runner = spawn(
	process.execPath,
	[
		`--import=${new URL("./support/bound-file.ts", import.meta.url)}?ms=${FILE_TIMEOUT_MS}`,
		"--test",
		"--test-global-setup=test/global-setup.ts",
		// Tuned for two cores. At any time two thirds of the processes wait for something.
		"--test-concurrency=6",
		`--test-timeout=${TEST_TIMEOUT_MS}`,
		...(words.get("options") ?? []),
		...(words.get("files") ?? groupFiles()),
	],
	{ cwd: ROOT, stdio: "inherit", timeout: RUN_TIMEOUT_MS, killSignal: "SIGINT" },
);
// The runner stops its processes, and then this process ends. Ctrl-C in a terminal also reaches the runner directly.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => runner.kill(signal));
const [code] = await once(runner, "exit");
process.exitCode = code ?? 1;

/** Writes one file for each process of a group. Returns these files, and the test files that belong to no group. */
function groupFiles(): string[] {
	const ungrouped = new Set(findFiles(TEST_FILES));
	mkdirSync(GROUPS_FOLDER, { recursive: true });
	const groups = GROUPS.flatMap(({ name, patterns, processes }, index) => {
		const files = patterns.flatMap((pattern) => findGroupFiles(name, pattern));
		for (const file of files) ungrouped.delete(file);
		return Array.from({ length: processes }, (_, process) => {
			const path = join(GROUPS_FOLDER, `${String(index).padStart(2, "0")}-${name}-${process + 1}.mjs`);
			const share = files.filter((_file, at) => at % processes === process);
			const urls = share.map((file) => pathToFileURL(join(ROOT, file)).href);
			writeFileSync(path, urls.map((url) => `import ${JSON.stringify(url)};\n`).join(""));
			return path;
		});
	});
	return [...groups, ...ungrouped];
}

/** Throws if the pattern matches nothing, because its folder was then renamed or removed. */
function findGroupFiles(group: string, pattern: string): string[] {
	const files = findFiles([pattern]);
	if (files.length === 0)
		throw new Error(`test/main.ts: "${pattern}" of the group ${group} matches no file.`);
	return files;
}

function findFiles(patterns: readonly string[]): string[] {
	return globSync(patterns, { cwd: ROOT, exclude: ["**/node_modules/**"] }).sort();
}
