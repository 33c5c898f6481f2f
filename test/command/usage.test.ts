// Tests help at every level, and the messages about a command line that cannot be understood.

import { deepEqual, equal, match } from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { hasStack, openHome } from "../support/command-home.ts";

const COMMANDS = [
	"serve",
	"migrate",
	"user create",
	"person export",
	"person erase",
	"partner export",
	"partner erase",
	"programme create",
	"key issue",
	"import programmes",
	"key issue-many",
	"import people",
	"import partners",
	"import links",
	"import codes",
	"import conversions",
	"import open-conversions",
	"doctor",
	"health",
	"backup",
	"record-backup",
	"restore",
	"verify",
	"move",
	"rekey",
	"record-restore",
	"owed",
];

describe("help is printed to standard output and exits with 0", () => {
	for (const args of [[], ["--help"], ["help"]]) {
		test(`"${["ringback", ...args].join(" ")}" lists every command`, async (t) => {
			const home = openHome(t);
			// Only one case runs as a separate process, to check standard output and the exit code.
			const { code, stdout, stderr } = await (args.length === 0 ? home.run(args) : home.runHere(args));
			deepEqual({ code, stderr }, { code: 0, stderr: "" });
			match(stdout, /^Usage: ringback COMMAND \[OPTIONS\]$/m);
			for (const command of COMMANDS) match(stdout, new RegExp(`^  ${command} +[A-Z]`, "m"));
			match(stdout, /Settings come from the environment: ringback guide settings\.$/m);
			equal(/^ {2}(?:listen|trigger) /m.test(stdout), false, "those are the shop's");
		});
	}

	test('"ringback user --help" lists the commands that begin with it, and no others', async (t) => {
		const { code, stdout, stderr } = await openHome(t).runHere(["user", "--help"]);
		deepEqual({ code, stderr }, { code: 0, stderr: "" });
		match(stdout, /^ {2}user create /m);
		equal(/^ {2}(?:serve|programme create) /m.test(stdout), false, stdout);
	});

	for (const command of COMMANDS) {
		test(`"ringback ${command} --help" shows its options, and does nothing`, async (t) => {
			const home = openHome(t);
			const { code, stdout, stderr } = await home.runHere([...command.split(" "), "--help"]);
			deepEqual({ code, stderr }, { code: 0, stderr: "" });
			match(stdout, new RegExp(`^ringback ${command} .*\\[--json\\]$`, "m"));
			match(stdout, /^ {2}--json +print JSON, one object per line/m);
			deepEqual(readdirSync(home.folder), []);
		});
	}
});

describe("wrong usage prints the mistake and where to find help in a few lines, and exits with 2", () => {
	const cases: readonly [args: string, problem: RegExp, help: RegExp][] = [
		["bogus", /^There is no command "bogus"\. /, /See `ringback --help`\.$/m],
		["listen --json", /^`ringback listen` is a command of the shop's package, .*\/downloads/m, /Integration/],
		["user", /^There is no command "user"\. /, /See `ringback user --help`\.$/m],
		["serve --port 80", /^--port is not an option here\./m, /^See `ringback serve --help`\.$/m],
		["migrate now", /^"now" is not expected here\.$/m, /^See `ringback migrate --help`\.$/m],
		["user create --email a@b.example", /^--kind is missing: /m, /^See `ringback user create --help`\.$/m],
		["user create --email", /--email/, /^See `ringback user create/m],
		["programme create --name Shop", /^--owner is missing: /m, /^See `ringback programme create --help`\.$/m],
	];
	for (const [args, problem, help] of cases) {
		test(`"ringback ${args}" is refused with the mistake and where to find help`, async (t) => {
			const home = openHome(t);
			const words = args.split(" ");
			const ended = await (args === "bogus" ? home.run(words) : home.runHere(words));
			equal(ended.code, 2);
			equal(ended.stdout, "");
			match(ended.stderr, problem);
			match(ended.stderr, help);
			equal(ended.stderr.trimEnd().split("\n").length <= 2, true, ended.stderr);
			equal(hasStack(ended), false, ended.stderr);
			deepEqual(readdirSync(home.folder), [], "nothing was begun");
		});
	}
});
