// `npm test`: every test file of the repository, by Node's own runner; what stands behind `npm test --` is handed on to
// it. Files of the folders below share processes, because loading the same sources takes longer than most of them do.
// A file that is run alone behaves the same.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TEST_FILES = ["src/**/*.test.ts", "receiver/**/*.test.ts", "test/**/*.test.ts"];
/** Half of them wait for something at any time, on the two cores that are meant. */
const AT_A_TIME = 4;

/** Nothing in them changes what another file of the same process sees. */
const SHARED: readonly { files: string; processes: number }[] = [
	{ files: "src/domain/*.test.ts", processes: 1 },
	{ files: "src/{accounts,api,callbacks,conversions}/*.test.ts", processes: 2 },
	{ files: "src/web/**/*.test.ts", processes: 4 },
	{ files: "test/contract/store-*.test.ts", processes: 4 },
	{ files: "test/contract/{accounts,section}-*.test.ts", processes: 3 },
];

const folder = mkdtempSync(join(tmpdir(), "ringback-groups-"));
const remove = (): void => rmSync(folder, { recursive: true, force: true });
process.once("exit", remove);

const alone = new Set(find(TEST_FILES));
const groups = SHARED.flatMap(({ files, processes }, index) => {
	const found = find([files]);
	for (const file of found) alone.delete(file);
	return Array.from({ length: processes }, (_, process) =>
		writeGroup(
			`${index}-${process}`,
			found.filter((_file, at) => at % processes === process),
		),
	);
});

const runner = spawn(
	process.execPath,
	[
		`--import=${new URL("./support/follow-tests.ts", import.meta.url)}`,
		"--test",
		`--test-concurrency=${AT_A_TIME}`,
		"--test-global-setup=test/global-setup.ts",
		...process.argv.slice(2),
		...groups,
		...alone,
	],
	{ cwd: ROOT, stdio: "inherit" },
);
// The runner ends what it has begun, and then this one does. A terminal's Ctrl-C reaches the runner by itself, too.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => runner.kill(signal));
const [code] = await once(runner, "exit");
process.exitCode = code ?? 1;

function find(patterns: readonly string[]): string[] {
	return globSync(patterns, { cwd: ROOT, exclude: ["**/node_modules/**"] }).sort();
}

function writeGroup(name: string, files: readonly string[]): string {
	const path = join(folder, `${name}.mjs`);
	const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(join(ROOT, file)).href)};\n`);
	writeFileSync(path, imports.join(""));
	return path;
}
