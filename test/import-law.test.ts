// The house rules can fail: a folder of files that break them, read by the import law and by Biome with this repository's
// settings.

import { deepEqual } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { EXCEPTIONS } from "./import-exceptions.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

test("the import law names what a layer, a module, a suite or a package must not import, and cycles", (t) => {
	const refused: readonly [path: string, text: string, problem: string][] = [
		["src/core/domain/a.ts", 'import { x } from "../store/b.ts";', "domain must not import store"],
		["src/core/domain/b.ts", 'import type { Clock } from "../ports.ts";', "domain must not import ports"],
		["src/core/ports.ts", 'import { judge } from "./domain/verdict.ts";', "interfaces only"],
		["src/core/store/a.ts", 'export { x } from "../conversions/b.ts";', "store must not import conversions"],
		["src/core/store/b.ts", 'import { x } from "./c.test-support.ts";', "imports the test file"],
		["src/core/conversions/a.ts", 'import { x } from "../callbacks/b.ts";', "must not import callbacks"],
		["src/core/web/a.ts", 'const x = await import("../../cli/b.ts");', "web must not import cli"],
		["src/core/web/b.ts", 'import { x } from "@ringback/receiver";', "web must not import receiver"],
		["src/core/api/a.ts", 'import "../../outside/clock.ts";', "api must not import outside"],
		["src/core/attic/a.ts", 'import { x } from "../domain/b.ts";', "attic has no line"],
		["src/cli/a.ts", 'import {\n\tx,\n\ttype Y,\n} from "../outside/b.ts";', "cli must not import outside"],
		["src/cli/b.ts", 'import { x } from "../../demo/b.ts";', "cli must not import demo"],
		// A module has the layers of the core, and knows only the core and the modules before it.
		["src/modules/jobs/domain/a.ts", 'import { x } from "#core/store/b.ts";', "domain must not import store"],
		["src/modules/jobs/store/a.ts", 'import { x } from "../use-cases/b.ts";', "must not import use-cases"],
		["src/modules/jobs/web/a.ts", 'import { x } from "../api/b.ts";', "web must not import api"],
		["src/modules/jobs/web/b.ts", 'import "#modules/feeds/web/b.ts";', "feeds, which is a later module"],
		["src/core/store/c.ts", 'import type { X } from "#modules/jobs/store/b.ts";', "the core must not import"],
		["src/outside/a.ts", 'import { x } from "#modules/jobs/domain/b.ts";', "must not import a module"],
		[
			"src/core/web/c.ts",
			'import { x } from "#core/domain/b.ts";',
			'write "#core/domain/b.ts" as a relative',
		],
		["src/cli/c.ts", 'import { x } from "../core/domain/b.ts";', 'as "#core/domain/b.ts"'],
		["src/modules/feeds/web/a.ts", 'import "../../jobs/web/c.ts";', 'as "#modules/jobs/web/c.ts"'],
		["test/load/c.ts", 'import { x } from "../../src/core/domain/b.ts";', 'as "#core/domain/b.ts"'],
		["receiver/src/a.ts", 'import { x } from "#core/domain/b.ts";', "receiver must not import domain"],
		["receiver/src/a.test.ts", 'import { x } from "#core/domain/b.ts";', "receiver must not import"],
		["test/load/a.ts", 'import { x } from "../crash/b.ts";', "belongs in test/support"],
		["test/support/a.ts", 'import type { X } from "../crash/b.ts";', "belongs in test/support"],
		["test/support/b.ts", 'import { x } from "#core/api/b.test-support.ts";', "test file of a layer"],
		["src/core/api/a.test.ts", 'import { x } from "../../../test/crash/b.ts";', "belongs in test/support"],
		["bench/a.ts", 'import type { B } from "./b.ts";', "bench/a.ts → bench/b.ts → bench/c.ts → bench/a.ts"],
		["bench/b.ts", 'import { c } from "./c.ts";', "bench/a.ts → bench/b.ts → bench/c.ts → bench/a.ts"],
		["bench/c.ts", 'import { a } from "./a.ts";', "bench/a.ts → bench/b.ts → bench/c.ts → bench/a.ts"],
	];
	const [[file = "", [module] = []] = []] = EXCEPTIONS.flatMap(({ files }) => Object.entries(files));
	const folder = writeFiles(t, [
		...refused,
		["src/modules.ts", "export const MODULES: readonly Module[] = [PARTNERS, JOBS, FEEDS];"],
		["src/core/api/c.ts", '// import { x } from "../web/b.ts";\nimport { x } from "../domain/b.ts";'],
		["src/service.ts", 'import { x } from "./outside/clock.ts";\nimport "#modules/jobs/use-cases/a.ts";'],
		["src/core/domain/c.test.ts", 'import { x } from "../../outside/clock.ts";'],
		["src/modules/feeds/web/b.ts", 'import "#core/web/d.ts";\nimport "#modules/jobs/web/c.ts";'],
		["demo/a.ts", 'import { x } from "../src/outside/clock.ts";\nimport "#core/domain/b.ts";'],
		["test/load/b.ts", 'import { x } from "../support/c.ts";\nimport { y } from "./sub/c.ts";'],
		[file, `import "#modules/${module}/domain/b.ts";`],
	]);
	const { status, stderr } = spawnSync(process.execPath, [join(ROOT, "test/import-law.ts"), folder], {
		encoding: "utf8",
	});
	const all = stderr.split("\n").filter((line) => line !== "" && !line.endsWith(" has no file."));
	const [unused, found] = [true, false].map((is) => all.filter((line) => isUnused(line) === is));
	const expected = refused.filter(([path, , problem]) =>
		found?.some((line) => line.includes(path) && line.includes(problem)),
	);
	deepEqual(expected, refused, stderr);
	deepEqual([status, found?.length], [1, refused.length - 2], `three of them are one cycle:\n${stderr}`);
	// The first exception is used in this folder, and no other.
	const exceptions = EXCEPTIONS.flatMap(({ files }) => Object.values(files).flat());
	deepEqual(unused?.length, exceptions.length - 1, stderr);
});

function isUnused(line: string): boolean {
	return line.includes("remove this exception");
}

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
		["src/core/api/default.ts", "export default function run() {}"],
		["src/core/api/as-default.ts", "const run = 1;\nexport { run as default };"],
		["demo/any.ts", "export const x: Record<string, any> = {};"],
		["test/only.test.ts", 'import { test } from "node:test";\ntest.only("x", () => undefined);'],
		["test/skip.test.ts", 'import { test } from "node:test";\ntest.skip("x", () => undefined);'],
		["src/core/api/camelCase.ts", "export const x = 1;"],
	];
	const allowed: readonly [path: string, text: string][] = [
		["src/core/api/fine.ts", 'export const at = (ms: number) => [new Date(ms), "Date.now()"]; // setTimeout'],
		["src/core/api/types.ts", 'import type { Socket } from "node:net";\nexport type X = Socket;'],
		["src/config.ts", "export const { env } = process;\nexport const x = process.env;"],
		["src/outside/a.ts", `import { connect } from "node:tls";\nexport const x = [connect, Date.now()];`],
		["src/core/api/a.test.ts", "export const x = Date.now();"],
	];
	const refused = [
		...outside.map((text, at) => [`src/core/api/outside-${at}.ts`, text] as const),
		...anywhere,
	];
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
