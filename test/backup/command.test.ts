// Tests the commands `ringback backup`, `restore` and `verify` as a person types them: interrupted, with a
// passphrase from a terminal, and used incorrectly.

import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	statSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { openSqlite } from "#core/store/sqlite/store.ts";
import { realClock } from "../../src/outside/clock.ts";
import { type Home, hasStack, openHome } from "../support/command-home.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { loaderArguments } from "../support/loader-arguments.ts";
import { skipHere } from "../support/not-run.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { addOwedConversion } from "../support/rows.ts";
import { until } from "../support/until.ts";
import { watchProcess } from "../support/watched-process.ts";
import { enlarge, PASSPHRASE, writePassphrase } from "./backup-setup.ts";
import "../support/quick-passphrases.ts";

/**
 * Option that makes passphrases as fast in a process of the command as they are in this one. under-load.test.ts uses
 * passphrases at their full cost.
 */
const QUICK_PASSPHRASES = `--import=${new URL("../support/quick-passphrases.ts", import.meta.url)}`;

describe("ringback backup on SQLite", { concurrency: 2 }, () => {
	for (const signal of ["SIGKILL", "SIGTERM"] as const) {
		test(`ringback backup leaves no file under its name if ${signal} ends it, and the next backup works`, async (t) => {
			const home = await openFilledHome(t, 60);
			const passphrase = ["--passphrase-file", writePassphrase(home.folder)];
			const running = home.start(["backup", "one.backup", ...passphrase]);
			await until(() => !running.isRunning || partials(home).length > 0);
			running.kill(signal);
			equal((await running.ended()).signal, signal, "the backup was still running");
			equal(existsSync(join(home.folder, "one.backup")), false);
			if (signal === "SIGTERM") deepEqual(partials(home), [], "the unfinished file was removed");
			const next = await home.runHere(["backup", join(home.folder, "one.backup"), ...passphrase]);
			equal(next.code, 0, next.stderr);
			match(next.stdout, /^.*one\.backup has everything that was stored by \d{4}-/m);
		});
	}

	test("ringback backup does nothing without a terminal and without an option about the key, and says what is missing", async (t) => {
		const home = await openFilledHome(t, 0);
		const bare = await home.run(["backup", "one.backup"]);
		equal(bare.code, 2);
		match(bare.stderr, /^--passphrase-file is missing: there is no terminal to ask for it\.$/m);
		const nameless = await home.runHere(["backup", "--without-key"]);
		equal(nameless.code, 2);
		match(nameless.stderr, /^PATH is missing: the file to write; with --keep, the folder\.$/m);
		equal(existsSync(join(home.folder, "one.backup")), false);
		const path = join(home.folder, "one.backup");
		const without = await home.runHere(["backup", path, "--without-key"]);
		equal(without.code, 0);
		match(without.stdout, /WITHOUT the key: unless you keep it elsewhere/);
		const taken = await home.runHere(["backup", path, "--without-key"]);
		equal(taken.code, 1);
		match(taken.stderr, /one\.backup is there already/);
		equal(hasStack(taken), false);
	});

	test("ringback backup --keep names the file by its time, and removes only its own oldest files", async (t) => {
		const home = await openFilledHome(t, 0);
		const folder = join(home.folder, "backups");
		const words = ["backup", "backups", "--keep", "2", "--passphrase-file", writePassphrase(home.folder)];
		const first = await home.run(words, { NODE_OPTIONS: QUICK_PASSPHRASES });
		equal(first.code, 0, first.stderr);
		const [name = ""] = readdirSync(folder);
		match(name, /^ringback-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/);
		equal(statSync(folder).mode & 0o777, 0o700);
		// Another backup within the same second would have the same name.
		const earlier = "ringback-2022-01-01T00-00-00Z.backup";
		renameSync(join(folder, name), join(folder, earlier));
		const old = ["ringback-2020-01-01T00-00-00Z.backup", "ringback-2021-01-01T00-00-00Z.backup"];
		const others = ["monday.backup", "ringback-2020.backup", "ringback.db.key"];
		for (const each of [...old, ...others]) writeFileSync(join(folder, each), "");
		// No backup is removed before the next one is complete.
		const refused = await home.runHere(["backup", folder, "--keep", "2", "--passphrase-file", "nothing"]);
		equal(refused.code, 2);
		equal(readdirSync(folder).length, 6);
		const second = await home.runHere(["backup", folder, ...words.slice(2), "--json"]);
		const { path, removed, createdAt } = JSON.parse(second.stdout);
		const { stdout: doctor } = await home.runHere(["doctor"]);
		match(
			doctor,
			new RegExp(`^ok +backup +the last has everything that was stored by ${createdAt}, [\\d.]+ [kM]B$`, "m"),
		);
		deepEqual(removed.toSorted(), old);
		deepEqual(readdirSync(folder).sort(), [earlier, basename(path), ...others].sort());
		equal((await home.runHere(["verify", path, ...words.slice(-2)])).code, 0);
		for (const wrong of ["0", "-1", "two", "99999"]) {
			const said = await home.runHere(["backup", "backups", `--keep=${wrong}`, "--without-key"]);
			equal(said.code, 2, wrong);
			match(said.stderr, /^--keep is a whole number from 1 to 3660\.$/m);
		}
	});

	test("backup, verify and restore remove what killed runs left in their folders, if nobody wrote to it for a day", async (t) => {
		const home = await openFilledHome(t, 0);
		const path = join(home.folder, "one.backup");
		const to = join(home.folder, "elsewhere.db");
		const words = ["--passphrase-file", writePassphrase(home.folder)];
		const fresh = "one.backup.partial-0123456789ab";
		// The last two are files of somebody else.
		const kept = [fresh, "notes.partial-2020", "one.partial-0123456789ab.txt"];
		for (const command of [
			["backup", path, ...words],
			["verify", path, ...words],
			["restore", path, "--to", to, ...words],
		]) {
			const left = [
				"monday.backup.copy.partial-0123456789ab",
				"monday.backup.copy.partial-0123456789ab-wal",
				"other.db.partial-ba9876543210",
			];
			for (const name of [...left, ...kept]) {
				writeFileSync(join(home.folder, name), "");
				if (name !== fresh) utimesSync(join(home.folder, name), 0, 0);
			}
			const { code, stderr } = await home.runHere(command);
			equal(code, 0, stderr);
			deepEqual(partials(home).toSorted(), kept.toSorted(), command.join(" "));
		}
	});

	test("ringback backup --keep removes nothing while the database breaks a rule of the ledger", async (t) => {
		const home = await openFilledHome(t, 0);
		const store = openSqlite(home.databasePath, realClock);
		await sql`delete from queue where id = (select min(id) from queue)`.execute(store.db);
		await store.close();
		const folder = join(home.folder, "backups");
		mkdirSync(folder);
		const balanced = "ringback-2020-01-01T00-00-00Z.backup";
		writeFileSync(join(folder, balanced), "");
		const { code, stdout } = await home.runHere(["backup", folder, "--keep=1", "--without-key"]);
		equal(code, 1);
		match(stdout, /WARNING: the ledger does not balance.*\n {2}no older backup was removed/);
		equal(readdirSync(folder).length, 2);
		equal(existsSync(join(folder, balanced)), true);
	});

	test("ringback backup asks for the passphrase twice on a terminal, does not show it, and refuses two different ones", async (t) => {
		if (!hasProgram("script"))
			return skipHere(t, "The prompt on a terminal needs the program `script` (util-linux).");
		const home = await openFilledHome(t, 0);
		const different = await typeAt(home, "backup one.backup", [PASSPHRASE, `${PASSPHRASE}!`]);
		match(different, /The two passphrases are not the same\./);
		match(await typeAt(home, "backup one.backup", ["short", "short"]), /at least 12 characters/);
		equal(existsSync(join(home.folder, "one.backup")), false);
		const said = await typeAt(home, "backup one.backup", [PASSPHRASE, PASSPHRASE]);
		match(said, /Passphrase: \r?\nPassphrase again: \r?\n/);
		match(said, /one\.backup has everything that was stored by /);
		match(said, /copying the database …/);
		doesNotMatch(said, new RegExp(PASSPHRASE));
		match(
			await typeAt(home, "restore one.backup --to other.db", ["another one"]),
			/The passphrase does not open/,
		);
		const restored = await typeAt(home, "restore one.backup --to other.db", [PASSPHRASE]);
		match(restored, /1 callback is owed to 1 receiver:/);
		match(restored, /To hold callbacks until you have looked around, run `ringback hold` before you start/);
	});
});

describe("ringback restore over a database", { concurrency: 2 }, () => {
	const ways = [
		{ signal: "SIGTERM", call: "linkSync", holds: "the backup" },
		{ signal: "SIGINT", call: "renameSync", holds: "the backup" },
		{ signal: "SIGKILL", call: "linkSync", holds: "the old database" },
		{ signal: "SIGKILL", call: "renameSync", holds: "the old database" },
	] as const;
	for (const { signal, call, holds } of ways) {
		test(`ringback restore leaves ${holds} under the database's name if ${signal} comes while it puts the file in place (${call})`, async (t) => {
			const home = await openFilledHome(t, 0);
			const passphrase = ["--passphrase-file", writePassphrase(home.folder)];
			equal((await home.runHere(["backup", join(home.folder, "one.backup"), ...passphrase])).code, 0);
			const store = openSqlite(home.databasePath, realClock);
			await sql`insert into audit_entries (at_ms, action) values (1, 'after the backup')`.execute(store.db);
			await store.close();
			const ended = await home.run(["restore", "one.backup", "--force", ...passphrase], {
				NODE_OPTIONS: `${QUICK_PASSPHRASES} --import=${signalItself(signal, call, home.databasePath)}`,
			});
			// Signals that the process can handle come too late to stop the restore, so it succeeds.
			if (signal === "SIGKILL") equal(ended.signal, signal, ended.stderr);
			else equal(ended.code, 0, ended.stderr);
			using database = new DatabaseSync(home.databasePath);
			const { n } =
				database.prepare("select count(*) as n from audit_entries where action = 'after the backup'").get() ??
				{};
			equal(n, holds === "the backup" ? 0 : 1);
			match(readFileSync(`${home.databasePath}.key`, "utf8"), /^[0-9a-f]{64}\n$/);
			if (signal !== "SIGKILL") {
				deepEqual(partials(home), []);
				match(ended.stdout, /^ {2}kept aside: .*ringback\.db\.before-/m);
			}
		});
	}
});

/**
 * Returns a module that sends the signal to its own process just before it moves or replaces the database.
 */
function signalItself(signal: NodeJS.Signals, call: "linkSync" | "renameSync", path: string): string {
	const source = `
		import fs from "node:fs";
		import { syncBuiltinESMExports } from "node:module";
		const real = fs.${call};
		fs.${call} = (from, to) => {
			if ([from, to].includes(${JSON.stringify(path)})) process.kill(process.pid, "${signal}");
			real(from, to);
		};
		syncBuiltinESMExports();`;
	return `data:text/javascript;base64,${Buffer.from(source).toString("base64")}`;
}

test("ringback verify prints one line for each problem, and exits with 1", async (t) => {
	const home = await openFilledHome(t, 0);
	const path = join(home.folder, "one.backup");
	await home.runHere(["backup", path, "--without-key"]);
	const good = await home.run(["verify", "one.backup", "--json"]);
	equal(good.code, 0, good.stdout);
	const findings = good.stdout
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	deepEqual(
		findings.map(({ check, state }) => `${check} ${state}`),
		["file ok", "checksums ok", "pages ok", "schema ok", "ledger ok", "key warning"],
	);
	truncateSync(path, 2_000);
	const cut = await home.runHere(["verify", path]);
	equal(cut.code, 1);
	match(cut.stdout, /^PROBLEM {2}file +.*one\.backup is damaged or was cut: /m);
	const none = await home.runHere(["verify", "nothing"]);
	equal(none.code, 1);
	match(none.stdout, /^PROBLEM {2}file +There is no file /m);
});

test("doctor says that ringback backup failed and why, until one succeeds", async (t) => {
	const home = await openFilledHome(t, 0);
	const path = join(home.folder, "one.backup");
	const words = ["backup", path, "--without-key"];
	const backup = async () =>
		(await home.runHere(["doctor"])).stdout.split("\n").filter((line) => / backup /.test(line));
	equal((await home.runHere(words, { RINGBACK_SECRET_KEY: "ab".repeat(32) })).code, 1);
	const [failed = "", ...others] = await backup();
	match(
		failed,
		/^WARNING +backup +The backup of .* failed\. None .* words: The sealing key does not open .*\. Read/,
	);
	deepEqual(others, []);
	equal((await home.runHere(words)).code, 0);
	match((await backup()).join(), /^ok +backup +the last has everything/);
	equal((await home.runHere(words)).code, 1, "the file is there already");
	match((await backup()).join(), /^ok /, "that is a mistake of the person, and no failed backup");
});

test("on PostgreSQL ringback backup and restore write nothing, and name the part of the guide to read", async (t) => {
	const home = openHome(t);
	const settings = {
		DATABASE_URL: "postgres://ringback@127.0.0.1:9/ringback",
		RINGBACK_SECRET_KEY: "ab".repeat(32),
	};
	const backup = await home.runHere(["backup", join(home.folder, "one.backup"), "--without-key"], settings);
	equal(backup.code, 1);
	match(
		backup.stderr,
		/^Nothing was written, because .* pg_dump\. `ringback guide postgresql-backups` has the commands\.$/m,
	);
	const restore = await home.runHere(["restore", "one.dump"], settings);
	equal(restore.code, 2);
	match(restore.stderr, /a dump is restored with pg_restore \(`ringback guide postgresql-backups`\)\.$/m);
	deepEqual(readdirSync(home.folder), []);
});

async function openFilledHome(t: TestContext, megabytes: number): Promise<Home> {
	const home = openHome(t);
	const settings = {
		DATABASE_URL: `sqlite:${home.databasePath}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
	};
	const account = await prepareDatabase(settings, { postbackUrl: "https://127.0.0.1:9/postback" });
	const store = openSqlite(home.databasePath, realClock);
	await addOwedConversion(store, account.programme);
	if (megabytes > 0) await enlarge(store, megabytes);
	await store.close();
	return home;
}

function partials(home: Home): string[] {
	return readdirSync(home.folder).filter((name) => name.includes(".partial-"));
}

/**
 * Runs the command on a terminal and returns everything shown there. Each line is typed when the prompt asks
 * for it.
 */
async function typeAt(home: Home, words: string, lines: readonly string[]): Promise<string> {
	const program = fileURLToPath(new URL("../../src/ringback.js", import.meta.url));
	const options = loaderArguments().map((option) => `'${option}'`);
	const command = [process.execPath, ...options, program, words].join(" ");
	const env = {
		PATH: process.env["PATH"] ?? "",
		NODE_COMPILE_CACHE: COMPILE_CACHE,
		NODE_OPTIONS: QUICK_PASSPHRASES,
		DATABASE_URL: `sqlite:${home.databasePath}`,
	};
	const child = spawn("script", ["-qec", command, "/dev/null"], { cwd: home.folder, env });
	const running = watchProcess(child);
	for (const [index, line] of lines.entries()) {
		await until(
			() => !running.isRunning || running.stdout.split(/Passphrase(?: again)?: /).length > index + 1,
		);
		child.stdin.write(`${line}\r`);
	}
	return (await running.ended()).stdout;
}

function hasProgram(name: string): boolean {
	try {
		execFileSync(name, ["--version"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
}
