// The guide's quick start, done word for word: its receiver, its commands, and what it says will be printed.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Home, openHome, type Running, type Settings } from "../command/command-home.ts";
import { prepareDatabase } from "../command/shop-account.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const GUIDE = readFileSync(join(ROOT, "docs/receiver-guide.md"), "utf8");
const [, QUICK_START = ""] = /\n## Quick start\n(.*?)\n## /s.exec(GUIDE) ?? [];
/** Of the fenced blocks and of the sentences. */
const COMMANDS = [...GUIDE.matchAll(/npx ringback ([^`\n]+)/g)].map(([, words = ""]) =>
	words.trim().split(" "),
);

test("a receiver that was copied from it hears of what `listen` forwards and `trigger` makes", async (t) => {
	const home = openHome(t);
	const { apiKey, secret } = await prepareDatabase({ DATABASE_URL: `sqlite:${home.databasePath}` });
	const service = home.start(["serve"], { PORT: "0" });
	const [, url = ""] = await service.said(/^Ringback listens on (\S+)$/m);
	const settings = fillSettings({
		RINGBACK_URL: url,
		RINGBACK_BRAND: "Service",
		RINGBACK_API_KEY: apiKey,
		RINGBACK_SIGNING_SECRET: secret,
	});

	const receiver = startReceiver(home, settings);
	const [, port = ""] = await receiver.said(/listening on (\d+)/);
	const listening = home.start(commandOf("listen", port), settings);
	await listening.said(/\S/);
	const triggered = await home.run(commandOf("trigger", port), settings);
	deepEqual({ code: triggered.code, stderr: triggered.stderr }, { code: 0, stderr: "" });

	await receiver.said(/^conversion\.recorded test-\S+ RECORDED$/m);
	await receiver.said(/^conversion\.approved test-\S+ APPROVED$/m);
	const lines = receiver.stdout.trimEnd().split("\n").slice(1);
	equal(lines.length, 2, "two events, as the guide says");
	match(QUICK_START, /prints two events, `conversion\.recorded` and `conversion\.approved`/);
});

test("every command in the guide exists, with the options it is shown with", async (t) => {
	ok(COMMANDS.length >= 5, COMMANDS.join(" · "));
	const home = openHome(t);
	const helps = new Map<string, string>();
	for (const [name = "", ...words] of COMMANDS) {
		if (!helps.has(name)) {
			const { code, stdout } = await home.run([name, "--help"]);
			equal(code, 0, `ringback ${name} --help`);
			helps.set(name, stdout);
		}
		for (const word of words.filter((word) => word.startsWith("--"))) {
			match(helps.get(name) ?? "", new RegExp(`^ +${word}\\b`, "m"), `ringback ${name} ${word}`);
		}
	}
});

/** Those that the guide exports, and no other: one that is missing there would be missed here. */
function fillSettings(values: Settings): Settings {
	const [, exports = ""] = /```sh\n((?:export .*\n)+)```/.exec(QUICK_START) ?? [];
	const names = [...exports.matchAll(/^export (\w+)=/gm)].map(([, name = ""]) => name);
	deepEqual(new Set(names), new Set(Object.keys(values)));
	return values;
}

function startReceiver(home: Home, settings: Settings): Running {
	const [, code = ""] = /```js\n(.*?)```/s.exec(QUICK_START) ?? [];
	const [, name = ""] = /Save this as `([\w.]+)`/.exec(QUICK_START) ?? [];
	const packages = join(home.folder, "node_modules", "@ringback");
	mkdirSync(packages, { recursive: true });
	symlinkSync(join(ROOT, "receiver"), join(packages, "receiver"));
	const file = join(home.folder, name);
	writeFileSync(file, code);
	return home.startScript(relative(ROOT, file), [], { ...settings, PORT: "0" });
}

/** As it stands in the quick start, with the port that the receiver really has. */
function commandOf(name: string, port: string): string[] {
	const [, line = ""] = new RegExp(`^npx ringback (${name} .*)$`, "m").exec(QUICK_START) ?? [];
	ok(line !== "", name);
	return line.replace("localhost:3000", `127.0.0.1:${port}`).split(" ");
}
