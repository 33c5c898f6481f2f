// Runs the commands of the operations guide as they are written, and checks that each block of code names its test.
// Commands that need PostgreSQL's own programs are in operations-postgresql.test.ts.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, globSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { insertPartner } from "#core/store/queries/partners.ts";
import { openSqlite } from "#core/store/sqlite/store.ts";
import { readConfig } from "../../src/config.ts";
import { realClock } from "../../src/outside/clock.ts";
import { type Home, hasStack, openHome, type Settings } from "../support/command-home.ts";
import { blocksToRun, blockToRun, GUIDE_BLOCKS, readSettings, runInShell } from "../support/guide-blocks.ts";
import { skipHere } from "../support/not-run.ts";
import { openService } from "../support/open-service.ts";
import { createPostgresAtHand } from "../support/postgres.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { findPrometheus, PROMETHEUS_MISSING } from "../support/prometheus.ts";
import { addOwedConversion, newId } from "../support/rows.ts";
import { createTestDatabase, DATABASE_KINDS } from "../support/test-database.ts";
import { startNameServer } from "../support/zone-server.ts";

const ROOT = new URL("../../", import.meta.url);
const KEY = "ab".repeat(32);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");

test("a comment before each code block names its test or the reason why there is none, and the test exists", () => {
	ok(GUIDE_BLOCKS.length > 25, String(GUIDE_BLOCKS.length));
	const tests = globSync("test/docs/*.test.ts", { cwd: ROOT }).map(read).join("\n");
	const problems = GUIDE_BLOCKS.flatMap(({ file, text, proof }) => {
		const where = `${file}: ${text.split("\n")[0]}`;
		switch (proof?.kind) {
			case "run":
				return tests.includes(`("${proof.by}"`) ? [] : [`${where}: no test runs "${proof.by}"`];
			case "tested":
				return existsSync(new URL(proof.by, ROOT)) && read(proof.by).includes(file)
					? []
					: [`${where}: ${proof.by} does not read it`];
			case "file":
				return read(proof.by) === text ? [] : [`${where}: is not ${proof.by}; npm run docs copies it`];
			case "by hand":
				return proof.by.length > 20 ? [] : [`${where}: why no test?`];
			default:
				return [`${where}: says nothing`];
		}
	});
	deepEqual(problems, []);
});

test("no command of the guide contains a password, because the list of processes would show it", () => {
	const shown = /\$\{?(?:\w*_URL|\w*(?:SECRET|PASSWORD|PASSPHRASE)\w*)/;
	deepEqual(
		GUIDE_BLOCKS.filter(({ text }) => shown.test(text)).map(({ file, text }) => `${file}: ${text}`),
		[],
	);
});

for (const kind of DATABASE_KINDS) {
	test(`the commands for the first hour, an upgrade and an import work (${kind})`, async (t) => {
		const home = openHome(t);
		const names = await startNameServer();
		t.after(() => names.close());
		names.records.set("example.com", ["192.0.2.1"]);
		const database = await createTestDatabase(kind);
		t.after(() => database.remove());
		const settings = {
			DATABASE_URL: database.url,
			RINGBACK_SECRET_KEY: KEY,
			RINGBACK_DNS_SERVERS: names.address,
		};
		const type = (block: string, words = "") => typeLines(home, settings, block, words);

		deepEqual(await type(blockToRun("migrate")), [1, 0], "something is to be done, and is done");
		deepEqual(await type(blockToRun("doctor")), [0]);
		deepEqual(await type(blockToRun("first programme")), [0, 0]);
		for (const block of blocksToRun("people")) ok((await type(block)).every((code) => code === 0));
		writeSamples(home.folder);
		const inFolder = (block: string) => block.replaceAll(/([\w-]+\.csv)/g, (name) => join(home.folder, name));
		deepEqual(await type(inFolder(blockToRun("import")), "--yes"), [0, 0, 0, 0, 0, 0, 0]);
		deepEqual(await type(inFolder(blockToRun("keys"))), [0]);

		deepEqual(await type("ringback user create --email anna@blog.example --kind shop"), [0]);
		const store = database.open();
		const partner = { public_id: newId("ptn"), name: "Blog", site: "", created_at_ms: 0 };
		await insertPartner(store.db, partner);
		await store.close();
		for (const block of blocksToRun("personal data")) {
			const meant = block
				.replace("ptn_01JEXAMPLE0000000000000000", partner.public_id)
				.replaceAll(/([\w-]+\.json)/g, (name) => join(home.folder, name));
			deepEqual(await type(meant), [0, 0]);
		}
		ok(readFileSync(join(home.folder, "anna.json"), "utf8").includes("anna@blog.example"));
	});

	test(`the commands that show whether the service runs work (${kind})`, async (t) => {
		const { folder } = openHome(t);
		const opened = await openService({
			database: kind,
			settings: { RINGBACK_METRICS_ADDRESS: "127.0.0.1:0" },
		});
		t.after(opened.close);
		const { url, metricsUrl } = opened.service;
		const [installed = "", metrics = ""] = blocksToRun("running").map((block) =>
			block
				.replaceAll("http://127.0.0.1:8080", url)
				.replaceAll("http://127.0.0.1:9464", metricsUrl ?? "?")
				// `ringback doctor` is left out, because it looks up a public name, which only the previous test
				// provides.
				.replace("ringback doctor\n", ""),
		);
		match(
			await runInShell(installed, { folder, settings: {} }),
			/^\{"status":"ready"\}\{"status":"ready",.*"database":"answers"/,
		);
		match(await runInShell(metrics, { folder, settings: {} }), /^ringback_oldest_due_age_seconds 0/m);
	});
}

test("the service accepts the settings that the guide shows", () => {
	const blocks = [
		blockToRun("settings"),
		blockToRun("postgres settings"),
		blockToRun("pgbouncer settings"),
		blockToRun("rekey settings"),
		blockToRun("provider settings"),
	];
	for (const block of blocks) {
		const config = readConfig(readSettings(block));
		ok(config.ok, config.ok ? "" : `${block}: ${config.problems.join("\n")}`);
	}
});

test("the service works with the database role that the guide creates", async (t) => {
	const server = createPostgresAtHand({ settings: { fsync: "off" } });
	const { url: adminUrl, drop } = await server.createDatabase();
	t.after(async () => {
		await drop();
		await server.stop();
	});
	const name = `ringback_${randomBytes(4).toString("hex")}`;
	const statements = `${blockToRun("role")}${blockToRun("role limit")}`.replaceAll(/\bringback\b/g, name);
	const admin = new pg.Client({ connectionString: adminUrl });
	await admin.connect();
	try {
		for (const statement of statements.trimEnd().split("\n")) await admin.query(statement);
		const url = new URL(adminUrl);
		Object.assign(url, { username: name, password: "change-me", pathname: `/${name}` });
		const { folder } = openHome(t);
		const key = (await runInShell(blockToRun("key"), { folder, settings: {} })).trim();
		match(key, /^[0-9a-f]{64}$/);
		await prepareDatabase({ DATABASE_URL: url.href, RINGBACK_SECRET_KEY: key });
	} finally {
		await admin.query(`drop database if exists ${name}`);
		await admin.query(`drop role if exists ${name}`);
		await admin.end();
	}
});

test("the documented commands take, check, restore and list a backup, and callbacks are held afterwards", async (t) => {
	const { folder } = openHome(t);
	const databasePath = join(folder, "data", "ringback.db");
	const settings = {
		DATABASE_URL: `sqlite:${databasePath}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_METRICS_ADDRESS: "off",
		PORT: "0",
	};
	const account = await prepareDatabase(settings, { postbackUrl: "https://127.0.0.1:9/postback" });
	const store = openSqlite(databasePath, realClock);
	await addOwedConversion(store, account.programme);
	await store.close();
	writeFileSync(join(folder, "passphrase"), "correct horse battery staple\n", { mode: 0o600 });
	const [take = "", putBack = ""] = blocksToRun("backup");

	const taken = await runInShell(`umask 022\n${take}`, { folder, settings });
	match(taken, /monday\.backup has everything that was stored by /);
	match(taken, /^ok +key +it opens all \d+ sealed values$/m);
	equal((statSync(join(folder, "backups", "monday.backup")).mode & 0o777).toString(8), "600");
	await runInShell(blockToRun("nightly"), { folder, settings });
	equal(readdirSync(join(folder, "backups")).length, 2, "the one of today; seven may be there");

	// The guide's script takes the time in whole seconds, which must be after the backup above.
	await setTimeout(1_000);
	const recorded = await runInShell(blockToRun("record-backup"), { folder, settings });
	match(
		recorded,
		/^Recorded: a backup with everything that was stored by .*, 161 MB\.\nRecorded: a backup failed at /m,
	);

	const restored = await runInShell(putBack, { folder, settings });
	match(restored, /kept aside: .*ringback\.db\.before-/);
	match(restored, /^PAYMENTS that were recorded after .* are not known any more\./m);
	equal(restored.match(/^1 callback is owed to 1 receiver:$/gm)?.length, 2, "by restore, and by owed");

	const replaced = await runInShell(blockToRun("rekey"), { folder, settings });
	match(replaced, /A new one would be made.*\n {2}1 {2}signing secrets\nNothing was changed\.$/m);
	match(
		replaced,
		/^The key [0-9a-f]{16} has replaced [0-9a-f]{16}, and sealed everything\. 1 value was sealed/m,
	);
	match(replaced, /^ok +key +the key [0-9a-f]{16} opens all \d+ sealed values$/m);

	const held = await runInShell(blockToRun("hold"), { folder, settings });
	match(held, /^All callbacks are held from now on: 1 waits\./m);
	match(held, /^All callbacks have been held since /m);
	match(held, /^Callbacks are sent again: 1 callback is due now, and 0 later\.$/m);

	using database = new DatabaseSync(databasePath);
	const failedAtMs = Date.parse("2026-03-01T13:00:00Z");
	database.exec(
		`insert into undelivered (id, receiver_id, state, run, ended_at_ms)
			select id, receiver_id, 'failed', run, ${failedAtMs} from queue;
		delete from queue`,
	);
	const resent = await runInShell(blockToRun("resend"), { folder, settings });
	match(
		resent,
		/^1 callback of 1 receiver failed then\.\n {2}1 {2}.* \(prg_\w+\), from 2026-03-01 13:00:00/m,
	);
	match(resent, /^Nothing was sent yet: run it again with --yes\.$/m);
	match(resent, /^1 callback is being sent again\.$/m);
	match(await runInShell(blockToRun("resend"), { folder, settings }), /^No callback failed then\.$/m);
	equal(database.prepare("select count(*) as n from queue").get()?.["n"], 1, "once");
	const nowhere = 'ringback resend failed --from "2026-03-01 12:00" --programme prg_nope || true';
	match(await runInShell(nowhere, { folder, settings }), /There is no programme prg_nope\./);
});

test("the guide's sample files are written once, and Prometheus accepts them with the network's own address", async (t) => {
	if (findPrometheus() === undefined) {
		return skipHere(t, PROMETHEUS_MISSING);
	}
	const { folder } = openHome(t);
	await runInShell(
		`cd "$(mktemp -d)"\n${blockToRun("container files")}ls compose.yaml Containerfile README.md`,
		{
			folder,
			settings: {},
		},
	);
	const said = await runInShell(blocksToRun("samples").join(""), { folder, settings: {} });
	match(said, /SUCCESS: \d+ rules found/);
	const rules = readFileSync(join(folder, "samples/prometheus/ringback.rules.yml"), "utf8");
	match(rules, /runbook_url: https:\/\/network\.example\/docs\/operations\/incidents#ringbackdown/);
	equal(rules.includes("https://ringback.example/docs"), false);
});

/** Runs each line in this process and returns the exit codes. Starting a process takes most of a second. */
async function typeLines(home: Home, settings: Settings, block: string, words: string): Promise<number[]> {
	const codes: number[] = [];
	for (const line of block.trimEnd().split("\n")) {
		const [program, ...args] = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
			([, quoted, bare]) => quoted ?? bare ?? "",
		);
		equal(program, "ringback", line);
		const ended = await home.runHere([...args, ...words.split(" ").filter((word) => word !== "")], settings);
		equal(hasStack(ended), false, line);
		codes.push(ended.code ?? -1);
	}
	return codes;
}

function writeSamples(folder: string): void {
	const part = read("docs/operations/import.md");
	for (const [, name = "", text = ""] of part.matchAll(/^`([\w-]+\.csv)`: .*?^```csv\n(.*?)^```$/gms)) {
		writeFileSync(join(folder, name), text);
	}
}
