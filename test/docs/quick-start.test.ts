// The guide's quick start on the package as it is published: its receiver, its commands with their own words, and
// what it says will be printed. Only the package's tarball is named for `npm install`, and ports are free ones.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Home, openHome, type Running, type Settings } from "../support/command-home.ts";
import { openService } from "../support/open-service.ts";
import { packPackage } from "../support/packed-package.ts";
import { openAccount } from "../support/shop-account.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const GUIDE = readFileSync(join(ROOT, "docs/receiver-guide.md"), "utf8");
const [, QUICK_START = ""] = /\n## Quick start\n(.*?)\n## /s.exec(GUIDE) ?? [];

test("a receiver that was copied from it hears of what `listen` forwards and `trigger` makes", async (t) => {
	const home = openHome(t);
	await installPackage(home);
	const { service, close } = await openService();
	t.after(close);
	const { apiKey, secret } = await openAccount(service);
	const settings = fillSettings({
		RINGBACK_URL: service.url,
		RINGBACK_BRAND: "Service",
		RINGBACK_API_KEY: apiKey,
		RINGBACK_SIGNING_SECRET: secret,
	});

	const receiver = startReceiver(home, settings);
	const [, port = ""] = await receiver.said(/listening on (\d+)/);
	const listening = home.startScript(commandIn(home), commandOf("listen", port), settings);
	await listening.said(/^Listening to /m);
	const triggered = await home.startScript(commandIn(home), commandOf("trigger", port), settings).ended();
	deepEqual({ code: triggered.code, stderr: triggered.stderr }, { code: 0, stderr: "" });

	await receiver.said(/^conversion\.recorded test-\S+ RECORDED$/m);
	await receiver.said(/^conversion\.approved test-\S+ APPROVED$/m);
	const lines = receiver.stdout.trimEnd().split("\n").slice(1);
	equal(lines.length, 2, "two events, as the guide says");
	// Another address of this machine: a receiver on trial is nobody else's business.
	await rejects(fetch(`http://127.0.0.2:${port}/postback`));
	match(QUICK_START, /prints two events, `conversion\.recorded` and `conversion\.approved`/);
});

/** Those that the guide exports, and no other: one that is missing there would be missed here. */
function fillSettings(values: Settings): Settings {
	const [, exports = ""] = /```sh\n((?:export .*\n)+)```/.exec(QUICK_START) ?? [];
	const names = [...exports.matchAll(/^export (\w+)=/gm)].map(([, name = ""]) => name);
	deepEqual(new Set(names), new Set(Object.keys(values)));
	return values;
}

async function installPackage(home: Home): Promise<void> {
	const packed = await packPackage();
	await packed.installInto(home.folder).finally(() => packed.remove());
	const { dependencies } = JSON.parse(readFileSync(join(home.folder, "package.json"), "utf8"));
	const [name = ""] = Object.keys(dependencies);
	match(QUICK_START, new RegExp(`^npm install ${name}$`, "m"));
	const { version } = JSON.parse(
		readFileSync(join(home.folder, "node_modules", name, "package.json"), "utf8"),
	);
	equal((await home.startScript(commandIn(home), ["--version"]).ended()).stdout, `${version}\n`);
}

/** What `npx ringback` finds in that folder. */
function commandIn(home: Home): string {
	return relative(ROOT, join(home.folder, "node_modules/.bin/ringback"));
}

function startReceiver(home: Home, settings: Settings): Running {
	const [, code = ""] = /```js\n(.*?)```/s.exec(QUICK_START) ?? [];
	const [, name = ""] = /Save this as `([\w.]+)`/.exec(QUICK_START) ?? [];
	const file = join(home.folder, name);
	writeFileSync(file, code);
	return home.startScript(relative(ROOT, file), [], { ...settings, PORT: "0" });
}

/** As it stands in the quick start, with the port that the receiver really has. */
function commandOf(name: string, port: string): string[] {
	const [, line = ""] = new RegExp(`^npx ringback (${name} .*)$`, "m").exec(QUICK_START) ?? [];
	ok(line !== "", name);
	return line.replace(":3000/", `:${port}/`).split(" ");
}
