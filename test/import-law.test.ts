// The house rules can fail: a folder of files that break them, read by the import law and by Biome with this repository's
// settings.

import { deepEqual } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

test("the import law names what a room, a suite or a package must not import, cycles, and a room that is too large", (t) => {
	const refused: readonly [path: string, text: string, problem: string][] = [
		["src/domain/a.ts", 'import { x } from "../store/b.ts";', "domain must not import store"],
		["src/domain/b.ts", 'import type { Clock } from "../ports.ts";', "domain must not import ports"],
		["src/ports.ts", 'import { judge } from "./domain/verdict.ts";', "interfaces only"],
		["src/store/a.ts", 'export { x } from "../conversions/b.ts";', "store must not import conversions"],
		["src/store/b.ts", 'import { x } from "./c.test-support.ts";', "imports the test file"],
		["src/conversions/a.ts", 'import { x } from "../callbacks/b.ts";', "must not import callbacks"],
		["src/web/a.ts", 'const x = await import("../cli/b.ts");', "web must not import cli"],
		["src/web/b.ts", 'import { x } from "@ringback/receiver";', "web must not import receiver"],
		["src/api/a.ts", 'import "../outside/clock.ts";', "api must not import outside"],
		["src/cli/a.ts", 'import {\n\tx,\n\ttype Y,\n} from "../outside/b.ts";', "cli must not import outside"],
		["src/cli/b.ts", 'import { x } from "../../demo/b.ts";', "cli must not import demo"],
		["receiver/src/a.ts", 'import { x } from "../../src/domain/b.ts";', "receiver must not import domain"],
		["receiver/src/a.test.ts", 'import { x } from "../../src/domain/b.ts";', "receiver must not import"],
		["test/load/a.ts", 'import { x } from "../crash/b.ts";', "belongs in test/support"],
		["test/support/a.ts", 'import type { X } from "../crash/b.ts";', "belongs in test/support"],
		["test/support/b.ts", 'import { x } from "../../src/api/b.test-support.ts";', "test file of a room"],
		["src/api/a.test.ts", 'import { x } from "../../test/crash/b.ts";', "belongs in test/support"],
		["src/attic/a.ts", 'import { x } from "../domain/b.ts";', "attic has no line"],
		["bench/a.ts", 'import type { B } from "./b.ts";', "bench/a.ts → bench/b.ts → bench/c.ts → bench/a.ts"],
		["bench/b.ts", 'import { c } from "./c.ts";', "bench/a.ts → bench/b.ts → bench/c.ts → bench/a.ts"],
		["bench/c.ts", 'import { a } from "./a.ts";', "bench/a.ts → bench/b.ts → bench/c.ts → bench/a.ts"],
	];
	const folder = writeFiles(t, [
		...refused,
		["src/api/c.ts", '// import { x } from "../web/b.ts";\nimport { x } from "../domain/b.ts";'],
		["src/service.ts", 'import { x } from "./outside/clock.ts";'],
		["src/domain/c.test.ts", 'import { x } from "../outside/clock.ts";'],
		["demo/a.ts", 'import { x } from "../src/outside/clock.ts";'],
		["test/load/b.ts", 'import { x } from "../support/c.ts";\nimport { y } from "./sub/c.ts";'],
	]);
	const { status, stderr } = spawnSync(process.execPath, [join(ROOT, "test/import-law.ts"), folder], {
		encoding: "utf8",
	});
	const found = stderr.split("\n").filter((line) => line !== "" && !line.endsWith(" has no file."));
	const expected = refused.filter(([path, , problem]) =>
		found.some((line) => line.includes(path) && line.includes(problem)),
	);
	deepEqual(expected, refused, stderr);
	deepEqual([status, found.length], [1, refused.length - 2], `three of them are one cycle:\n${stderr}`);
});

test("Biome refuses the outside world within src, and what is forbidden in every file", (t) => {
	const outside = [
		"export const nowMs = Date.now();",
		"export const now = new Date();",
		"export const now = new Date;",
		"export const startMs = performance.now();",
		"export const x = Math.random();",
		"setTimeout(() => undefined, 5);",
		"export const every = globalThis.setInterval;",
		"setImmediate(() => undefined);",
		"export const { HOME } = process.env;",
		'import { isIP } from "node:net";\nexport const x = isIP("");',
		'import * as dns from "node:dns/promises";\nexport const x = dns.lookup;',
		'import https from "node:https";\nexport const x = https.request;',
		'import { setTimeout as wait } from "node:timers/promises";\nexport const x = wait;',
		'export const x = await import("node:tls");',
		'export { connect } from "node:tls";',
	];
	const anywhere: readonly [path: string, text: string][] = [
		["src/api/default.ts", "export default function run() {}"],
		["src/api/as-default.ts", "const run = 1;\nexport { run as default };"],
		["demo/any.ts", "export const x: Record<string, any> = {};"],
		["test/only.test.ts", 'import { test } from "node:test";\ntest.only("x", () => undefined);'],
		["test/skip.test.ts", 'import { test } from "node:test";\ntest.skip("x", () => undefined);'],
		["src/api/camelCase.ts", "export const x = 1;"],
	];
	const allowed: readonly [path: string, text: string][] = [
		["src/api/fine.ts", 'export const at = (ms: number) => [new Date(ms), "Date.now()"]; // setTimeout'],
		["src/api/types.ts", 'import type { Socket } from "node:net";\nexport type X = Socket;'],
		["src/config.ts", "export const { env } = process;\nexport const x = process.env;"],
		["src/outside/a.ts", `import { connect } from "node:tls";\nexport const x = [connect, Date.now()];`],
		["src/api/a.test.ts", "export const x = Date.now();"],
	];
	const refused = [...outside.map((text, at) => [`src/api/outside-${at}.ts`, text] as const), ...anywhere];
	const folder = writeFiles(t, [...refused, ...allowed]);
	for (const name of ["biome.json", "outside-world.grit"]) copyFileSync(join(ROOT, name), join(folder, name));
	const { stdout } = spawnSync(
		join(ROOT, "node_modules/.bin/biome"),
		["lint", "--vcs-enabled=false", "--reporter=github", "--max-diagnostics=none"],
		{ cwd: folder, encoding: "utf8" },
	);
	const found = [...stdout.matchAll(/^::error .*?file=([^,]+)/gm)].map(([, path = ""]) =>
		relative(folder, path),
	);
	deepEqual([...new Set(found)].sort(), refused.map(([path]) => path).sort());
});

function writeFiles(t: TestContext, files: readonly (readonly [path: string, text: string, ...unknown[]])[]) {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), "ringback-house-rules-")));
	t.after(() => rmSync(folder, { recursive: true }));
	for (const [path, text] of files) {
		mkdirSync(dirname(join(folder, path)), { recursive: true });
		writeFileSync(join(folder, path), `${text}\n`);
	}
	return folder;
}
