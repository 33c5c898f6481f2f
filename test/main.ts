// `npm test`: every test file of the repository, by Node's own runner; what stands behind `npm test --` is handed on to
// it. Files of the folders below share processes, because loading the same sources takes longer than most of them do.
// Run alone, a file does the same and has no bounds.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MINUTE_MS } from "../src/domain/time.ts";
import { writeTestGroup } from "./support/test-group.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TEST_FILES = ["src/**/*.test.ts", "receiver/**/*.test.ts", "test/**/*.test.ts"];
/** Half of them wait for something at any time, on the two cores that are meant. */
const AT_A_TIME = 4;
/** For a process, of one file or of several: the longest takes four minutes on two busy cores. */
const FILE_BOUND_MS = 10 * MINUTE_MS;
/** For a test, a suite or a hook: less than its file has, so that it is named first. */
const TEST_BOUND_MS = 8 * MINUTE_MS;
/** For what no timer of its own can end, such as a loop: then the runner names the files that it still waits for. */
const RUN_BOUND_MS = 60 * MINUTE_MS;

/**
 * Nothing in them changes what another file of the same process sees. The runner takes files in the order of their
 * names, and these before the others: so the one that takes longest by far stands here, too, and first.
 */
const SHARED: readonly { name: string; files: string; processes: number }[] = [
	{ name: "browser", files: "test/browser/*.test.ts", processes: 1 },
	{ name: "domain", files: "src/domain/*.test.ts", processes: 1 },
	{ name: "use-cases-and-api", files: "src/{accounts,api,callbacks,conversions}/*.test.ts", processes: 2 },
	{ name: "web", files: "src/web/**/*.test.ts", processes: 4 },
	{ name: "store", files: "test/contract/store-*.test.ts", processes: 4 },
	{ name: "accounts-and-sections", files: "test/contract/{accounts,section}-*.test.ts", processes: 3 },
	// Apart from those that listen: a listener puts its own Request in place of Node's.
	{ name: "intake", files: "test/contract/intake-*.test.ts", processes: 1 },
	{ name: "services", files: "test/contract/{clean,clock,network,odd,pixel,signed}-*.test.ts", processes: 1 },
	{ name: "notices-openapi-retention", files: "test/{notices,openapi,retention}/*.test.ts", processes: 3 },
	{ name: "imports-and-outside", files: "src/{imports,outside}/*.test.ts", processes: 2 },
	{ name: "receiver", files: "receiver/src/**/*.test.ts", processes: 1 },
	{ name: "receiver-client", files: "test/receiver-client/*.test.ts", processes: 1 },
];

const folder = mkdtempSync(join(tmpdir(), "ringback-groups-"));
const remove = (): void => rmSync(folder, { recursive: true, force: true });
process.once("exit", remove);

const alone = new Set(find(TEST_FILES));
const groups = SHARED.flatMap(({ name, files, processes }, index) => {
	const found = find([files]);
	for (const file of found) alone.delete(file);
	return Array.from({ length: processes }, (_, process) =>
		writeTestGroup(
			folder,
			`${String(index).padStart(2, "0")}-${name}-${process + 1}`,
			found.filter((_file, at) => at % processes === process),
		),
	);
});

const runner = spawn(
	process.execPath,
	[
		`--import=${new URL("./support/follow-tests.ts", import.meta.url)}`,
		`--import=${new URL("./support/bound-file.ts", import.meta.url)}?ms=${FILE_BOUND_MS}`,
		"--test",
		`--test-timeout=${TEST_BOUND_MS}`,
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
setTimeout(() => runner.kill("SIGTERM"), RUN_BOUND_MS).unref();
const [code] = await once(runner, "exit");
process.exitCode = code ?? 1;

function find(patterns: readonly string[]): string[] {
	return globSync(patterns, { cwd: ROOT, exclude: ["**/node_modules/**"] }).sort();
}
