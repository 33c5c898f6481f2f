// Tests help at every level, and the messages about a command line that cannot be understood.

import { deepEqual, equal, match } from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
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
		["user", /^`ringback user` is not complete\. /, /Use `ringback user create` or `ringback user link`\.$/m],
		["user make", /^There is no command "user make"\. /, /See `ringback user --help`\.$/m],
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

describe("a command that works on stored data refuses a database that is not there, and creates nothing", () => {
	const commands = [
		"user create --email a@b.example --kind staff",
		"user link --email a@b.example",
		"person export a@b.example",
		"person erase a@b.example --yes",
		"partner export ptn_x",
		"partner erase ptn_x --yes",
		"programme create --name S --owner a@b.example --currency EUR --commission 8 --fee 2 --approval-days 30",
		"key issue --programme prg_x",
		"key issue-many --result keys.csv",
		"import people people.csv --yes",
		"record-backup succeeded",
		"record-restore --at 2026-01-01",
		"rekey",
		"rekey --dry-run",
		"owed",
		"hold",
		"release",
		"resend failed --from 2026-01-01",
		"backup copy.backup",
		"verify",
	];
	for (const command of commands) {
		test(`"ringback ${command}" without a database`, async (t) => {
			const home = openHome(t);
			const ended = await home.runHere(command.split(" "));
			match(ended.stderr, /^There is no database (?:file )?\S*ringback\.db\b/);
			equal(ended.code === 0, false);
			deepEqual(readdirSync(home.folder), []);
		});
	}

	for (const [what, content, sentence] of [
		["an empty file", "", /^There is nothing in the database file \S+ringback\.db\. Run `ringback migrate`/],
		["another file", "my notes\n", /^\S+ringback\.db is not a SQLite database\. Correct DATABASE_URL/],
	] as const) {
		for (const command of ["hold", "verify", "rekey --dry-run", "doctor"]) {
			test(`"ringback ${command}" refuses ${what}, and leaves it as it is`, async (t) => {
				const home = openHome(t);
				writeFileSync(home.databasePath, content);
				const ended = await home.runHere(command.split(" "));
				match(
					command === "doctor" ? ended.stdout : ended.stderr,
					command === "doctor" ? /ringback\.db/ : sentence,
				);
				deepEqual(readdirSync(home.folder), ["ringback.db"]);
				equal(readFileSync(home.databasePath, "utf8"), content);
			});
		}
	}

	test("a database without tables is refused, too", async (t) => {
		const home = openHome(t);
		const database = new DatabaseSync(home.databasePath);
		database.exec("create table notes (text)");
		database.close();
		const ended = await home.runHere(["hold"]);
		equal(ended.code, 1);
		match(ended.stderr, /^The database that DATABASE_URL names has no tables yet\. Run `ringback migrate`/);
	});
});
