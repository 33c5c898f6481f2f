// Tests that npm renders the documents, that the service shows what to do if it has not, and that the service itself never
// loads the renderer.

import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeFolder } from "../support/run-folder.ts";
import { runProgram } from "../support/run-program.ts";
import { endProcess, watchProcess } from "../support/watched-process.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PARTS = ["docs", "examples", "integrations", "ops", "package.json", "receiver", "src"];
const NOT_COPIED = /\/(?:docs\/rendered|node_modules)$/;
const PAGES = ["/docs", "/docs.md", "/docs/api", "/problems/bad_signature", "/downloads", "/llms-full.txt"];
/** Prints each renderer that a process loads. */
const WATCH_LOADS = `data:text/javascript,
	import { registerHooks } from "node:module";
	registerHooks({
		load(url, context, next) {
			const [, name] = /\\/node_modules\\/(marked|highlight\\.js|hono)\\//.exec(url) ?? [];
			if (name !== undefined) console.error("loads " + name);
			return next(url, context);
		},
	});`;

test("a service without rendered documents shows the command that renders them, and the service never loads the renderer", async (t) => {
	const folder = makeFolder("not-rendered");
	for (const part of PARTS) {
		cpSync(join(ROOT, part), join(folder, part), {
			recursive: true,
			filter: (path) => !NOT_COPIED.test(path),
		});
	}
	symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));

	const before = await readPages(t, folder);
	for (const { path, status, text } of before.pages) {
		equal(status, 200, path);
		match(text, /Run (?:`|<code>)npm run prepare(?:`|<\/code>) in the folder of the service/, path);
	}
	await runProgram("npm", ["run", "prepare"], folder);
	const after = await readPages(t, folder);
	for (const { path, status, text } of after.pages) {
		equal(status, 200, path);
		doesNotMatch(text, /npm run prepare/, path);
	}
	deepEqual([before.loaded, after.loaded], [["hono"], ["hono"]]);
});

/** Starts the service in the folder, reads the pages, and stops it. Returns the watched packages that it loaded. */
async function readPages(t: TestContext, folder: string) {
	const child = spawn(process.execPath, ["--import", WATCH_LOADS, "src/ringback.js", "serve"], {
		cwd: folder,
		env: { PATH: process.env["PATH"], PORT: "0", RINGBACK_METRICS_ADDRESS: "off" },
	});
	t.after(() => endProcess(child));
	const running = watchProcess(child);
	const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
	const pages = await Promise.all(
		[...PAGES, "/docs/search?q=signature"].map(async (path) => {
			const answer = await fetch(`${url}${path}`);
			return { path, status: answer.status, text: await answer.text() };
		}),
	);
	child.kill("SIGTERM");
	const { stderr } = await running.ended();
	const loaded = new Set([...stderr.matchAll(/^loads (.+)$/gm)].map(([, name]) => name));
	return { pages: pages.filter(({ path }) => PAGES.includes(path)), loaded: [...loaded] };
}
