// What node:test knows with follow-tests.ts is what it knows without: whose hook, whose failure, whose subtest.

import { deepEqual, equal, match } from "node:assert/strict";
import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "./run-folder.ts";

const PROGRAM = `
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
const said = [];
const say = (what) => said.push(what);
describe("a suite", () => {
	before(() => say("suite begins"));
	after(() => say("suite ends"));
	test("first", async () => {
		await wait(1);
		after(() => say("first ends"));
		await test("below", async () => { await wait(1); after(() => say("below ends")); });
	});
	test("second", async () => { await wait(1); after(() => say("second ends")); });
});
test("two at a time", { concurrency: 2 }, async (t) => {
	await Promise.all(["left", "right"].map((name) => t.test(name, async () => {
		await wait(1);
		if (name === "right") void Promise.reject(new Error("nobody waits for it"));
		await wait(20);
	})));
});
test("says", () => process.stdout.write(JSON.stringify(said) + "\\n"));
`;

const LIGHTER = ["--import", new URL("./follow-tests.ts", import.meta.url).href];

for (const [how, options] of [
	["as Node does it", []],
	["as the whole run has it", LIGHTER],
] as const) {
	test(`hooks, subtests and failures belong to the test that made them, ${how}`, async (t) => {
		const folder = makeFolder("follow");
		t.after(() => rmSync(folder, { recursive: true }));
		const file = join(folder, "program.mjs");
		writeFileSync(file, PROGRAM);
		const { code, stdout } = await run([...options, "--test-reporter=tap", file]);
		equal(code, 1, stdout);
		const said = JSON.parse(/^\[.*\]$/m.exec(stdout)?.[0] ?? "null");
		deepEqual(said, ["suite begins", "below ends", "first ends", "second ends", "suite ends"]);
		match(stdout, /^ {4}ok 1 - first$/m);
		match(stdout, /^ {8}ok 1 - below$/m);
		match(stdout, /^ {4}ok 1 - left$/m);
		match(stdout, /^ {4}not ok 2 - right\n(?:.*\n)+? +error: 'nobody waits for it'$/m);
		match(stdout, /^# fail 2$/m);
	});
}

function run(args: readonly string[]): Promise<{ code: number; stdout: string }> {
	const env = { PATH: process.env["PATH"] ?? "" };
	return new Promise((resolve) => {
		execFile(process.execPath, args, { env }, (error, stdout) =>
			resolve({ code: Number(error?.code ?? 0), stdout }),
		);
	});
}
