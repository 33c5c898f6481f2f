// What `npm test` says of files that do not come to their end, alone or in a process that several share.

import { doesNotMatch, equal, match } from "node:assert/strict";
import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { PATIENCE_MS } from "./patience.ts";
import { makeFolder } from "./run-folder.ts";
import { writeTestGroup } from "./test-group.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const IMPORTS = `
import { fork } from "node:child_process"; import { once } from "node:events"; import { createServer } from "node:net";
import { test } from "node:test";`;
const SOUND = 'test("passes", () => {});';
const NEVER = 10 * MINUTE_MS;

const ENDINGS: readonly { what: string; program: string; boundMs: number; says: RegExp }[] = [
	{
		what: "that is ended with success within a test",
		program: 'test("ends it", () => process.exit(0));',
		boundMs: NEVER,
		says: /The process of \S*sound\.test\.ts, \S*ending\.test\.ts was ended before its tests were\. Error: Ended here(?:\n.*)+ending\.test\.ts:4:/,
	},
	{
		what: "that is ended with success later",
		program: 'test("waits", () => new Promise(() => setTimeout(() => process.exit(), 1)));',
		boundMs: NEVER,
		says: /The process of \S*sound\.test\.ts, \S*ending\.test\.ts was ended before its tests were\./,
	},
	{
		what: "whose test does not end",
		program: 'test("hangs", () => new Promise(() => setInterval(() => {}, 1_000)));',
		boundMs: 1_000,
		says: /The process of \S*sound\.test\.ts, \S*ending\.test\.ts has not ended within 1 seconds\. Still open: .*Timeout/,
	},
	{
		what: "that leaves something open",
		program: 'test("leaves it", () => void createServer().listen(0));',
		boundMs: 1_000,
		says: /The process of \S*sound\.test\.ts, \S*ending\.test\.ts has not ended within 1 seconds\. Still open: .*TCPServerWrap/,
	},
	{
		what: "that is killed",
		program: 'test("is killed", () => process.kill(process.pid, "SIGKILL"));',
		boundMs: NEVER,
		says: /Failed \(SIGKILL\): The process of \S*sound\.test\.ts, \S*ending\.test\.ts\./,
	},
	{
		what: "that fails",
		program: 'test("fails", () => { throw new Error("on purpose"); });',
		boundMs: NEVER,
		says: /Failed \(1\): The process of \S*sound\.test\.ts, \S*ending\.test\.ts\./,
	},
];

for (const { what, program, boundMs, says } of ENDINGS) {
	test(`a file ${what} fails the run, and it is named with those that share its process`, async (t) => {
		const { code, said } = await run(t, program, boundMs);
		equal(code, 1, said);
		match(said, says);
	});
}

test("files that come to their end pass, whatever they start and however that ends", async (t) => {
	const program = `test("starts one", async () => {
		const child = fork(process.argv[1].replace(/own.group.mjs$/, "child.mjs"));
		const [code] = await once(child, "exit");
		if (code !== 0) throw new Error("ended with " + code);
	});`;
	const { code, said } = await run(t, program, NEVER);
	equal(code, 0, said);
	doesNotMatch(said, /ended|Failed/);
});

/** Two files in one process, the second of which is given. */
async function run(t: TestContext, program: string, boundMs: number) {
	const folder = makeFolder("bound");
	t.after(() => rmSync(folder, { recursive: true }));
	const files = Object.entries({ "sound.test.ts": SOUND, "ending.test.ts": program }).map(([name, text]) => {
		writeFileSync(join(folder, name), `${IMPORTS}\n${text}`);
		return relative(ROOT, join(folder, name));
	});
	writeFileSync(join(folder, "child.mjs"), "process.exit(0);");
	const group = writeTestGroup(folder, "own", files);
	const bound = `${new URL("./bound-file.ts", import.meta.url)}?ms=${boundMs}`;
	const setup = join(folder, "setup.mjs");
	const naming = JSON.stringify(new URL("./name-failed-groups.ts", import.meta.url).href);
	writeFileSync(setup, `export { nameFailedGroups as globalSetup } from ${naming};`);
	return start([`--import=${bound}`, `--test-global-setup=${setup}`, "--test", group]);
}

function start(args: readonly string[]): Promise<{ code: number; said: string }> {
	const env = { PATH: process.env["PATH"] ?? "" };
	return new Promise((resolve) => {
		execFile(process.execPath, args, { env, timeout: PATIENCE_MS }, (error, stdout, stderr) =>
			resolve({ code: Number(error?.code ?? 0), said: `${stderr}${stdout}` }),
		);
	});
}
