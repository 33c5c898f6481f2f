// The house rules, checked over every source file; and the check itself, checked with files that break them.

import { deepEqual, match, ok } from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { maskText, readImports } from "./support/source-text.ts";
import { findUntidy } from "./support/tidy.ts";

const ROOT = new URL("../", import.meta.url);

test("every source file keeps to the import law and the house rules", () => {
	const paths = globSync("{src,receiver,demo,bench,test,examples,release}/**/*.ts", {
		cwd: ROOT,
		exclude: (path) => path.includes("node_modules"),
	});
	ok(paths.length > 50, "the sources were not found");
	const files = paths.sort().map((path) => ({ path, text: readFileSync(new URL(path, ROOT), "utf8") }));
	deepEqual(
		findUntidy(files).map(({ path, line, problem }) => `${path}:${line} ${problem}`),
		[],
	);
});

describe("the check itself", () => {
	const OFFENCES: ReadonlyArray<readonly [path: string, text: string, problem: RegExp]> = [
		["src/domain/a.ts", 'import { x } from "../store/b.ts";', /domain must not import store/],
		["src/domain/a.ts", 'import type { Clock } from "../ports.ts";', /domain must not import ports/],
		["src/ports.ts", 'import type { Db } from "./store/store.ts";', /ports must not import store/],
		["src/ports.ts", 'import { judge } from "./domain/verdict.ts";', /interfaces only/],
		["src/config.ts", 'import { x } from "./ports.ts";', /config must not import ports/],
		["src/store/a.ts", 'export { x } from "../conversions/b.ts";', /store must not import conversions/],
		["src/conversions/a.ts", 'import { x } from "../callbacks/b.ts";', /must not import callbacks/],
		["src/callbacks/a.ts", 'import { x } from "../accounts/b.ts";', /must not import accounts/],
		["src/accounts/a.ts", 'import { x } from "../conversions/b.ts";', /must not import conversions/],
		["src/conversions/a.ts", 'import { x } from "../api/b.ts";', /must not import api/],
		["src/api/a.ts", 'import { x } from "../web/b.ts";', /api must not import web/],
		["src/web/a.ts", 'const x = await import("../cli/b.ts");', /web must not import cli/],
		["src/api/a.ts", 'import "../outside/clock.ts";', /api must not import outside/],
		["src/cli/a.ts", 'import {\n\tx,\n\ttype Y,\n} from "../outside/b.ts";', /cli must not import outside/],
		["src/main.ts", 'import { x } from "./outside/b.ts";', /main must not import outside/],
		["src/outside/a.ts", 'import { x } from "../store/b.ts";', /outside must not import store/],
		["src/service.ts", 'import { x } from "./cli/b.ts";', /service must not import cli/],
		["src/cli/a.ts", 'import { x } from "../../demo/b.ts";', /cli must not import demo/],
		["src/web/a.ts", 'import { x } from "@ringback/receiver";', /web must not import receiver/],
		["receiver/src/a.ts", 'import { x } from "../../src/domain/b.ts";', /receiver must not import domain/],
		["receiver/src/a.test.ts", 'import { x } from "../../src/domain/b.ts";', /receiver must not import/],
		["src/store/a.ts", 'import { x } from "./b.test-support.ts";', /imports the test file/],
		["test/load/a.ts", 'import { x } from "../crash/b.ts";', /belongs in test\/support/],
		["test/support/a.ts", 'import type { X } from "../crash/b.ts";', /belongs in test\/support/],
		["src/api/a.test.ts", 'import { x } from "../../test/crash/b.ts";', /belongs in test\/support/],
		["test/support/a.ts", 'import { x } from "../../src/api/b.test-support.ts";', /test file of a room/],
		["src/attic/a.ts", "", /attic has no line/],
		["src/api/a.ts", "const nowMs = Date.now();", /Date\.now/],
		["src/api/a.ts", "const now = new Date();", /new Date/],
		["src/api/a.ts", "const now = new Date;", /new Date/],
		["src/api/a.ts", "const startMs = performance.now();", /performance/],
		["src/api/a.ts", "const x = Math.random();", /Math\.random/],
		["src/api/a.ts", "setTimeout(run, 5);", /a timer/],
		["src/api/a.ts", "const every = globalThis.setInterval;", /a timer/],
		["src/api/a.ts", "setImmediate(run);", /a timer/],
		["src/api/a.ts", "const { HOME } = process.env;", /process\.env/],
		["src/api/a.ts", `const text = \`at \${Date.now()}\`;`, /Date\.now/],
		["src/api/a.ts", 'import { isIP } from "node:net";', /node:net belongs/],
		["src/api/a.ts", 'import { lookup } from "node:dns/promises";', /node:dns\/promises belongs/],
		["src/api/a.ts", 'import { request } from "node:https";', /node:https belongs/],
		["src/api/a.ts", 'import { connect } from "node:tls";', /node:tls belongs/],
		["src/api/a.ts", 'import { createSocket } from "node:dgram";', /node:dgram belongs/],
		["src/api/a.ts", "export default function run() {}", /a default export/],
		["src/api/a.ts", "export { run as default };", /a default export/],
		["src/api/a.ts", "const x: any = 1;", /any/],
		["test/a.test.ts", "const x = y as any;", /any/],
		["src/api/a.ts", "const x: Record<string, any> = {};", /any/],
		["src/api/a.ts", "const x: Map<any, string | undefined> = y;", /any/],
		["src/api/a.ts", "const x: Array<string | any[]> = [];", /any/],
		["test/a.test.ts", 'test.only("x", run);', /keeps the others/],
		["test/a.test.ts", 'test("x", { only: true }, run);', /keeps the others/],
		["test/a.test.ts", 'test.skip("x", run);', /skipped test/],
		["test/a.test.ts", 'test("x", { skip: true }, run);', /skipped test/],
		["src/api/a.ts", "const claimWishes = 1;", /“wish” is retired, say request/],
		["src/api/a.ts", "function takeTurn() {}", /“turn” is retired/],
		["src/api/a.ts", "const place = 1;", /“place” is retired/],
		["test/crash/kill-scene.ts", "", /“scene” is retired, say setup/],
		["src/api/camelCase.ts", "", /kebab-case/],
		["src/api/Upper.ts", "", /kebab-case/],
		["src/api/utils.ts", "", /noun/],
		["test/support/helpers.ts", "", /noun/],
		["src/api/index.ts", "", /noun/],
		["src/api/a.ts", "x;\n".repeat(301), /301 lines/],
	];

	for (const [path, text, problem] of OFFENCES) {
		test(`reports ${JSON.stringify(text.slice(0, 50))} in ${path}`, () => {
			const findings = findUntidy([{ path, text }]);
			deepEqual(findings.length, 1, JSON.stringify(findings));
			match(findings[0]?.problem ?? "", problem);
		});
	}

	test("reports cycles, also through types only and through several files", () => {
		const files = [
			{ path: "src/api/a.ts", text: 'import type { B } from "./b.ts";' },
			{ path: "src/api/b.ts", text: 'import { c } from "./c.ts";' },
			{ path: "src/api/c.ts", text: 'import { a } from "./a.ts";' },
			{ path: "src/api/d.ts", text: 'import { a } from "./a.ts";' },
		];
		deepEqual(
			findUntidy(files).map(({ problem }) => problem),
			["a cycle: src/api/a.ts → src/api/b.ts → src/api/c.ts → src/api/a.ts"],
		);
	});

	test("names the line", () => {
		const [finding] = findUntidy([{ path: "src/api/a.ts", text: "// one\n\nconst x = Math.random();\n" }]);
		deepEqual(finding?.line, 3);
	});

	const INNOCENT: ReadonlyArray<readonly [path: string, text: string]> = [
		["src/api/a.ts", "// Date.now() and any other word in a comment"],
		["src/api/a.ts", '/* setTimeout */ const x = "Math.random() any";'],
		["src/api/a.ts", `const x = \`where id = any(\${ids}) and \${\`process.env\`}\`;`],
		["src/api/a.ts", "const quote = /[\"'`]/; const x = a / b; // any"],
		["src/api/a.ts", "const x = new Date(atMs); const first = Promise.any([]);"],
		["src/api/a.ts", "for (const any of all) if (!any || any > 5) use(any);"],
		["src/api/a.ts", 'import type { Socket } from "node:net";'],
		["src/api/a.ts", 'import { html } from "hono/html";'],
		["src/outside/clock.ts", "export const nowMs = () => Date.now();"],
		["src/outside/dial.ts", 'import { connect } from "node:tls";'],
		["src/config.ts", "const { env } = process; const x = process.env;"],
		["src/service.ts", 'import { createClock } from "./outside/clock.ts";'],
		["src/domain/a.test.ts", 'import { x } from "../outside/b.ts"; const t = Date.now();'],
		["src/outside/shop.test-support.ts", 'import { x } from "../../demo/certificate.ts";'],
		["demo/a.ts", 'import { x } from "../src/outside/b.ts"; setTimeout(run, 1);'],
		["test/load/a.ts", 'import { x } from "../support/b.ts"; import { y } from "./sub/c.ts";'],
		["src/api/a.test.ts", 'import { x } from "../../test/support/b.ts";'],
		["test/a.test.ts", '// Chromium has no such font.\ntest.skip("x", run);'],
		["test/a.test.ts", 'test("x", { skip: "no browser here" }, run);'],
	];

	for (const [path, text] of INNOCENT) {
		test(`has nothing against ${JSON.stringify(text.slice(0, 50))} in ${path}`, () => {
			deepEqual(findUntidy([{ path, text }]), []);
		});
	}

	test("tells code from what only looks like it", () => {
		const text = `a("//x", /[/"]/g, \`b\${c({ d: "}" })}e\`); // f\ng / h / i;`;
		deepEqual(maskText(text), `a("   ", /    /g, \` \${c({ d: " " })} \`);     \ng / h / i;`);
	});

	test("finds imports of every kind and where they lead", () => {
		const text = [
			'import a, { type B } from "./a.ts";',
			'import type {\n\tC,\n} from "../c.ts";',
			'export * from "./d.ts";',
			'import "./e.ts";',
			'const f = await import("node:fs");',
			'import type from "./g.ts";',
		].join("\n");
		deepEqual(
			readImports({ path: "src/api/x.ts", text }).map(({ specifier, target, line, isTypeOnly }) => [
				specifier,
				target,
				line,
				isTypeOnly,
			]),
			[
				["./a.ts", "src/api/a.ts", 1, false],
				["../c.ts", "src/c.ts", 2, true],
				["./d.ts", "src/api/d.ts", 5, false],
				["./e.ts", "src/api/e.ts", 6, false],
				["node:fs", null, 7, false],
				["./g.ts", "src/api/g.ts", 8, false],
			],
		);
	});
});
