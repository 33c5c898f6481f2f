// Runs the quick start as the service shows it, in an empty folder, with a real npm that has an empty cache and no
// registry. Only the key, the secret and the receiver's port are filled in.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createClient } from "@ringback/receiver";
import { openService } from "../support/open-service.ts";
import { currentPackage } from "../support/packed-package.ts";
import { makeFolder } from "../support/run-folder.ts";
import { openAccount } from "../support/shop-account.ts";
import { type Running, watchProcess } from "../support/watched-process.ts";

interface ShopFolder {
	path: string;
	/** Runs a line as if it was typed in this folder. */
	type(line: string, settings?: Readonly<Record<string, string>>): Running;
}

test("a receiver that is copied from the quick start gets the callbacks that `listen` forwards and `trigger` sends", async (t) => {
	const { service, close } = await openService();
	t.after(close);
	const { apiKey, secret } = await openAccount(service);
	const quickStart = await readQuickStart(service.url);
	const folder = openFolder(t);
	const settings = readExports(quickStart, { rbk: apiKey, rbs: secret });
	deepEqual(settings, {
		RINGBACK_URL: service.url,
		RINGBACK_BRAND: "Service",
		RINGBACK_API_KEY: apiKey,
		RINGBACK_SIGNING_SECRET: secret,
	});

	const installed = await folder.type(lineOf(quickStart, "npm install")).ended();
	equal(installed.code, 0, installed.stderr);
	await checkInstalled(folder, service.url);

	const receiver = startReceiver(folder, quickStart, settings);
	const [, port = ""] = await receiver.said(/listening on (\d+)/);
	const atPort = (line: string) => line.replace(":3000/", `:${port}/`);
	const listening = folder.type(atPort(lineOf(quickStart, "npx --no-install ringback listen")), settings);
	await listening.said(/^Listening to /m);
	const triggered = await folder
		.type(lineOf(quickStart, "npx --no-install ringback trigger"), settings)
		.ended();
	deepEqual({ code: triggered.code, stderr: triggered.stderr }, { code: 0, stderr: "" });

	await receiver.said(/^conversion\.recorded test-\S+ RECORDED$/m);
	await receiver.said(/^conversion\.approved test-\S+ APPROVED$/m);
	const lines = receiver.stdout.trimEnd().split("\n").slice(1);
	equal(lines.length, 2, "two events, as the guide says");
	// The receiver must not be reachable at another address of this machine.
	await rejects(fetch(`http://127.0.0.2:${port}/postback`));
});

test("the first command shows a callback with a valid signature in a terminal, in an empty folder", async (t) => {
	const { service, close } = await openService();
	t.after(close);
	const { apiKey, secret } = await openAccount(service);
	const quickStart = await readQuickStart(service.url);
	const [, line = ""] = /(RINGBACK_URL=\S+ \\\n(?:\S+ \\\n)*npx [^\n]+ listen)\n/.exec(quickStart) ?? [];
	const folder = openFolder(t);
	const listening = folder.type(line.replace("rbk_…", apiKey).replace("rbs_…", secret));
	await listening.said(/, checking their signatures$/m);
	const client = createClient({ url: service.url, apiKey, secret });
	equal((await client.record({ orderId: "test-1", basketValue: "1.00", test: true })).ok, true);
	await listening.said(/conversion\.recorded {2}test-1 .*→ signature valid {2}test$/m);
});

test("without the package `npx --no-install` runs nothing, and `npx -p` with the address runs the command", async (t) => {
	const { service, close } = await openService();
	t.after(close);
	const folder = openFolder(t);
	const refused = await folder.type("npx --no-install ringback --version").ended();
	ok(refused.code !== 0, refused.stdout);
	equal(refused.stdout, "");
	const current = currentPackage();
	const { code, stdout, stderr } = await folder
		.type(`npx --yes -p ${service.url}/downloads/${current.file} ringback --version`)
		.ended();
	deepEqual([code, stdout], [0, `${current.version}\n`], stderr);
});

/** Returns the text of the page as it is shown, up to its further tests. */
async function readQuickStart(url: string): Promise<string> {
	const page = await (await fetch(`${url}/docs/quick-start`)).text();
	const [, section = ""] = /<article class="prose">(.*)<h2 id="more-tests"/s.exec(page) ?? [];
	const text = section
		.replace(/<button\b.*?<\/button>/gs, "")
		.replaceAll(/<\/?(?:p|pre|div)\b[^>]*>/g, "\n")
		.replaceAll(/<[^>]*>/g, "")
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&quot;", '"')
		.replaceAll("&#39;", "'")
		.replaceAll("&amp;", "&");
	ok(text.length > 1_000);
	return text;
}

function lineOf(quickStart: string, start: string): string {
	const found = quickStart.split("\n").filter((line) => line.trim().startsWith(start));
	equal(found.length, 1, start);
	return found[0]?.trim() ?? "";
}

/** Returns only the variables that the guide exports, so that a missing one makes the test fail. */
function readExports(quickStart: string, secrets: { rbk: string; rbs: string }): Record<string, string> {
	const lines = [...quickStart.matchAll(/^\s*export (\w+)=(.*)$/gm)];
	return Object.fromEntries(
		lines.map(([, name = "", value = ""]) => [
			name,
			value.replace("rbk_…", secrets.rbk).replace("rbs_…", secrets.rbs),
		]),
	);
}

/** Checks that the lock file has the checksum that the service's page shows. */
async function checkInstalled({ path }: ShopFolder, url: string): Promise<void> {
	const lock = JSON.parse(readFileSync(join(path, "package-lock.json"), "utf8"));
	const current = currentPackage();
	const address = `${url}/downloads/${current.file}`;
	const { version, resolved, integrity } = lock.packages["node_modules/@ringback/receiver"];
	deepEqual(
		{ version, resolved, integrity },
		{ version: current.version, resolved: address, integrity: current.integrity },
	);
	deepEqual(
		Object.keys(lock.packages),
		["", "node_modules/@ringback/receiver"],
		"and nothing else came with it",
	);
	const page = await (await fetch(`${url}/downloads`)).text();
	for (const shown of [`npm install ${address}`, current.sha256 ?? "?", integrity]) {
		ok(page.includes(shown), shown);
	}
}

function startReceiver(folder: ShopFolder, quickStart: string, settings: Record<string, string>): Running {
	const [, name = ""] = /Save this as ([\w.]+) and start it with node \1\./.exec(quickStart) ?? [];
	const [, code = ""] = /(import \{ createServer \}.*?\n\}\);\n)\s*It /s.exec(quickStart) ?? [];
	ok(code.includes("createReceiver"), quickStart);
	writeFileSync(join(folder.path, name), code);
	return folder.type(`node ${name}`, { ...settings, PORT: "0" });
}

function openFolder(t: TestContext): ShopFolder {
	const home = makeFolder("quick-start");
	const path = join(home, "shop");
	mkdirSync(path);
	const groups: number[] = [];
	t.after(() => {
		// npx starts a shell and the command, which would otherwise keep running.
		for (const pid of groups) endGroup(pid);
		rmSync(home, { recursive: true, force: true });
	});
	return {
		path,
		type(line, settings = {}) {
			const child = spawn("sh", ["-c", line], {
				cwd: path,
				env: {
					PATH: process.env["PATH"],
					HOME: home,
					npm_config_cache: join(home, "cache"),
					// Nothing listens on this port, so every request to a registry fails.
					npm_config_registry: "http://127.0.0.1:9",
					npm_config_fetch_retries: "0",
					npm_config_audit: "false",
					npm_config_fund: "false",
					npm_config_update_notifier: "false",
					NO_COLOR: "1",
					...settings,
				},
				stdio: ["ignore", "pipe", "pipe"],
				detached: true,
			});
			if (child.pid !== undefined) groups.push(child.pid);
			return watchProcess(child);
		},
	};
}

function endGroup(pid: number): void {
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// The error is ignored, because the process has already ended.
	}
}
