// The README's programs that call the service, run unchanged against the real one.

import { equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { startLiveService } from "./live-service.ts";

const RECEIVER = new URL("../../receiver/", import.meta.url);
const live = await startLiveService();

test("the README's program records its order, and a second run finds it recorded", async () => {
	match(await runProgram(live.account.apiKey), /^RECORDED: cnv_\w+, commission 10\.39 EUR\n$/);
	match(await runProgram(live.account.apiKey), /^DUPLICATE: cnv_\w+, commission 10\.39 EUR\n$/);
	equal((await live.countRows("1001")).conversions, 1);
});

test("the README's program reports why it was refused", async () => {
	match(await runProgram("rbk_nobody"), /^misconfigured: This API key is not known here\./);
});

test("the README's program for batches reports the result of each item", async () => {
	const told = await runProgram(live.account.apiKey, 1);
	match(told, /^1002: RECORDED\n\[ 'APPROVED', 'REVERSED' \]\n1003: refused: .+\n$/);
	match(await runProgram("rbk_nobody", 1), /^(misconfigured: This API key is not known here\..*\n){2}$/);
});

test("the README's program that signs by itself is accepted", async () => {
	match(await runProgram(live.account.apiKey, 2), /^200 {"outcome":"DUPLICATE","conversion":/);
	match(await runProgram("rbk_nobody", 2), /^401 .*"unknown_api_key"/);
});

function runProgram(apiKey: string, index = 0): Promise<string> {
	const env = {
		PATH: process.env["PATH"],
		NODE_COMPILE_CACHE: COMPILE_CACHE,
		RINGBACK_URL: live.service.url,
		RINGBACK_API_KEY: apiKey,
		RINGBACK_SIGNING_SECRET: live.account.secret,
	};
	const args = ["--input-type=module", "--eval", readProgram(index)];
	return new Promise((resolve, reject) => {
		execFile(process.execPath, args, { cwd: fileURLToPath(RECEIVER), env }, (error, stdout, stderr) => {
			if (error === null) resolve(stdout + stderr);
			else reject(error);
		});
	});
}

function readProgram(index: number): string {
	const readme = readFileSync(new URL("README.md", RECEIVER), "utf8");
	const [, section = ""] = /<!-- client -->\n(.*)<!-- \/client -->/s.exec(readme) ?? [];
	const program = [...section.matchAll(/```js\n(.*?)```/gs)][index]?.[1];
	ok(program !== undefined, "the README has no program between its client markers");
	return program;
}
