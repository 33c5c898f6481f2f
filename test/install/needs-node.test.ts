// If the Node from the install is missing, an old Node of the machine prints a sentence and not a stack.

import { deepEqual, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import packageJson from "../../package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

describe("a Node that is too old", () => {
	for (const [command, args] of [
		["ringback", [packageJson.bin.ringback, "--version"]],
		["npm ci", wordsOf(packageJson.scripts.preprepare)],
		["npm start", wordsOf(packageJson.scripts.start)],
		["npm test", wordsOf(packageJson.scripts.pretest)],
		["npm run demo", wordsOf(packageJson.scripts.predemo)],
		["npm run release", wordsOf(packageJson.scripts.prerelease)],
	] as const) {
		test(`ends "${command}" with what to do about it, and starts nothing`, () => {
			const { status, stdout, stderr } = runOn("20.20.2", args);
			deepEqual({ status, stdout }, { status: 1, stdout: "" });
			match(stderr, /^Ringback needs Node 26, and this is Node 20\.20\.2\. .*"npm ci".*\n$/);
		});
	}
});

test("a Node that is new enough runs the command", () => {
	const { status, stdout, stderr } = runOn("26.0.0", [packageJson.bin.ringback, "--version"]);
	deepEqual({ status, stdout, stderr }, { status: 0, stdout: `${packageJson.version}\n`, stderr: "" });
});

/** Arguments after `node` in a script of package.json. */
function wordsOf(script: string): string[] {
	const [, words = ""] = /^(?:exec )?node (.*)$/.exec(script) ?? [];
	return words.split(" ");
}

/** This Node with another version number. `npm run test:runtimes` uses really old versions. */
function runOn(version: string, args: readonly string[]) {
	const versions = JSON.stringify({ ...process.versions, node: version });
	const disguise = `data:text/javascript,Object.defineProperty(process, "versions", { value: ${versions} })`;
	const env = { PATH: process.env["PATH"] };
	return spawnSync(process.execPath, ["--import", disguise, ...args], { cwd: ROOT, env, encoding: "utf8" });
}
