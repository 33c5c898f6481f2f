// Tests `ringback rekey` with real processes: with a key file beside a running service, with settings on PostgreSQL, and
// killed at every step. Backups, restores and moves around a replacement are here, too.

import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sql } from "kysely";
import { keyIdOf } from "#core/domain/key-ring.ts";
import type { Clock } from "#core/ports.ts";
import { readConfig } from "../../src/config.ts";
import { rekey } from "../../src/service/rekey.ts";
import { openWorkplace, type Workplace } from "../../src/service/workplace.ts";
import { createClock } from "../support/clock.ts";
import { type Home, hasStack, openHome } from "../support/command-home.ts";
import { createKeptDatabase, readKeptState } from "../support/kept-state.ts";
import { createLog } from "../support/log.ts";
import { prepareService } from "../support/open-service.ts";
import { prepareDatabase, withWorkplace } from "../support/prepare-database.ts";
import { openAccount } from "../support/shop-account.ts";
import { createShopClient } from "../support/shop-client.ts";
import { until, untilOnClock } from "../support/until.ts";
import { writePassphrase } from "./backup-setup.ts";
import type { KilledStep } from "./killed-rekey.ts";
import { bytesOf, enqueueMails, NEW, OLD, readAll, THIRD } from "./rekey-setup.ts";
import "../support/quick-passphrases.ts";

const keyAt = (path: string): string => readFileSync(path, "utf8").trim();
const settingsOf = (path: string) => ({ DATABASE_URL: `sqlite:${path}` });

/** Copies a database with sealed values and its key file into the folder. */
async function fill(home: Home): Promise<void> {
	const database = await createKeptDatabase("SQLite", readKeptState(1));
	await sql`vacuum into ${home.databasePath}`.execute(database.open().db);
	await database.remove();
	writeFileSync(`${home.databasePath}.key`, `${OLD}\n`, { mode: 0o600 });
	await withWorkplace(settingsOf(home.databasePath), ({ store, keyRing }) => enqueueMails(store, keyRing, 2));
}

function readHere(home: Home, ...keys: readonly string[]): Promise<(string | null)[]> {
	return withWorkplace(settingsOf(home.databasePath), ({ store }) => readAll(store.db, ...keys));
}

/** Names of the key files, without the time. */
function keyFiles(home: Home): string[] {
	const names = readdirSync(home.folder).filter((name) => name.includes(".key"));
	return [...new Set(names.map((name) => name.replace(/before-.*/, "before-<time>")))].sort();
}

test("one command replaces a key file, is private, and a killed one continues from any step", async (t) => {
	const home = openHome(t);
	await fill(home);
	const before = await readHere(home, OLD);
	const { databasePath } = home;
	const kills: readonly [step: KilledStep, when: "inside" | "after"][] = [
		["announce", "inside"],
		["replace", "inside"],
		["replace", "after"],
		["reseal", "after"],
		["finish", "inside"],
		["finish", "after"],
		["settle", "inside"],
	];
	let fresh = "";
	for (const [step, when] of kills) {
		const { signal, stderr } = await home.startScript("test/backup/killed-rekey.ts", [step, when]).ended();
		equal(signal, "SIGKILL", `${when} ${step}: ${stderr}`);
		const files = [`${databasePath}.key`, `${databasePath}.key.new`].filter((path) =>
			readdirSync(home.folder).includes(path.slice(home.folder.length + 1)),
		);
		const keys = files.map(keyAt);
		fresh = keys.find((key) => key !== OLD) ?? fresh;
		// A start finds the keys in the files, and can read and write everything.
		const readable = await withWorkplace(settingsOf(databasePath), async ({ store, keyRing }) => {
			await enqueueMails(store, keyRing, 1);
			const newest = store.db.selectFrom("mail_queue").select((eb) => eb.fn.max("id").as("id"));
			await store.db.deleteFrom("mail_queue").where("id", "=", newest).execute();
			return readAll(store.db, ...keys);
		});
		deepEqual(readable, before, `${when} ${step}`);
	}
	const done = await home.runHere(["rekey", "--json"]);
	equal(done.code, 0, done.stderr);
	equal(JSON.parse(done.stdout).presentId, keyIdOf(bytesOf(fresh)));
	deepEqual(keyFiles(home), ["ringback.db.key", "ringback.db.key.before-<time>"]);
	equal(keyAt(`${databasePath}.key`), fresh);
	notEqual(fresh, OLD);
	for (const name of readdirSync(home.folder).filter((one) => one.includes(".key"))) {
		equal((statSync(join(home.folder, name)).mode & 0o777).toString(8), "600", name);
	}
	deepEqual(await readHere(home, fresh), before, "the new key alone opens everything");
	const verified = await home.runHere(["verify"]);
	match(verified.stdout, /^ok +key +it opens all \d+ sealed values$/m);
});

test("while a service runs beside its key file, one command replaces the key, and no sale is refused", async (t) => {
	const home = openHome(t);
	const account = await prepareDatabase(settingsOf(home.databasePath), { owners: ["owner@shop.example"] });
	const running = home.start(["serve"], { PORT: "0" });
	const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
	const shop = createShopClient(url, account.apiKey, account.secret, Date.now);
	const former = keyAt(`${home.databasePath}.key`);
	const sales: string[] = [];
	let isOver = false;
	const selling = (async () => {
		while (!isOver) {
			const orderId = `A-${sales.length}`;
			const { outcome } = await shop.post("/v1/conversions", {
				orderId,
				basketValue: "10.00",
				currency: "EUR",
			});
			sales.push(outcome);
		}
	})();
	const [one, other] = await Promise.all([home.run(["rekey", "--json"]), home.run(["rekey", "--json"])]);
	const soldBy = sales.length;
	await until(() => sales.length > soldBy + 5);
	isOver = true;
	await selling;
	deepEqual([one.code, other.code], [0, 0], `${one.stderr}${other.stderr}`);
	match(`${one.stderr}${other.stderr}`, /^waiting until these processes know the new key: all \w+ on /m);
	equal(JSON.parse(one.stdout).presentId, JSON.parse(other.stdout).presentId, "both replaced it by one key");
	const fresh = keyAt(`${home.databasePath}.key`);
	notEqual(fresh, former);
	deepEqual(keyFiles(home), ["ringback.db.key", "ringback.db.key.before-<time>"]);
	deepEqual([...new Set(sales)], ["RECORDED"]);
	equal(running.stderr.includes('"level":50'), false, running.stderr);
	// A key that is issued now is sealed by the new key, which the service has not read from a setting.
	const issued = await home.runHere([
		"key",
		"issue",
		"--programme",
		account.programmeId,
		"--name",
		"x",
		"--json",
	]);
	equal(issued.code, 0, issued.stderr);
	running.kill("SIGTERM");
	equal((await running.ended()).code, 0);
	deepEqual((await readHere(home, fresh)).includes(null), false);
	equal(
		(await readHere(home, former)).every((text) => text === null),
		true,
	);
	match(
		(await home.runHere(["doctor"])).stdout,
		/^ok +key +the key [0-9a-f]{16} opens all \d+ sealed values$/m,
	);
});

test("with settings on PostgreSQL, processes are restarted with both keys, the command runs, and the former key goes", async (t) => {
	const clock = createClock(Date.now());
	const prepared = await prepareService({ database: "PostgreSQL", clock });
	t.after(prepared.close);
	const oldOnly = { RINGBACK_SECRET_KEY: OLD };
	const both = { RINGBACK_SECRET_KEY: NEW, RINGBACK_FORMER_SECRET_KEY: OLD };
	/** Waits until the process has reported that it runs. */
	const isListed = () =>
		untilOnClock(clock, "the process is listed", async () => {
			const { db } = prepared.service.store;
			return (await db.selectFrom("processes").select("instance").execute()).length > 0;
		});
	await prepared.start(oldOnly);
	await isListed();
	const account = await openAccount(prepared.service, { owners: ["owner@shop.example"] });
	let sold = 0;
	const sell = () =>
		createShopClient(prepared.service.url, account.apiKey, account.secret, clock.nowMs).post(
			"/v1/conversions",
			{
				...{ orderId: `A-${sold++}`, basketValue: "10.00", currency: "EUR" },
			},
		);
	await sell();
	const command = (settings: Record<string, string>) =>
		openCommand({ DATABASE_URL: prepared.database.url, ...settings }, clock);

	const early = await command(both);
	const refused = rekey(early, { endClicks: false, tell: () => undefined });
	let isRefused = false;
	void refused.then(() => (isRefused = true));
	await untilOnClock(clock, "the command gives up", () => isRefused, 1_000);
	const answer = await refused;
	equal(answer.ok ? "" : answer.fault.code, "rekey_waits_for_processes");
	await early.close();
	await sell();

	await prepared.stop();
	await prepared.start(both);
	await isListed();
	await sell();
	const late = await command(both);
	const replacing = rekey(late, { endClicks: false, tell: () => undefined });
	let isReplaced = false;
	void replacing.then(() => (isReplaced = true));
	await untilOnClock(clock, "the key is replaced", () => isReplaced, 100);
	equal((await replacing).ok, true);
	await late.close();
	await sell();
	// The running service follows within five seconds, and then seals with the new key.
	await clock.moveBy(5_000);
	await openAccount(prepared.service, { owners: ["second@shop.example"] });

	await prepared.stop();
	await prepared.start({ RINGBACK_SECRET_KEY: NEW });
	await sell();
	const texts = await readAll(prepared.service.store.db, NEW);
	ok(texts.length >= 2);
	equal(texts.includes(null), false);
	deepEqual(
		prepared.log.lines.filter(({ level }) => level === "error"),
		[],
	);
});

test("a process that does not know the new key becomes unready and stops, and says why", async (t) => {
	const clock = createClock(Date.now());
	const prepared = await prepareService({ database: "PostgreSQL", clock });
	t.after(prepared.close);
	const service = await prepared.start({ RINGBACK_SECRET_KEY: OLD });
	await openAccount(service, { owners: ["owner@shop.example"] });
	// The process was suspended for so long that it counts as ended.
	await service.store.db.updateTable("processes").set({ seen_at_ms: 0 }).execute();
	const workplace = await openCommand(
		{ DATABASE_URL: prepared.database.url, RINGBACK_SECRET_KEY: NEW, RINGBACK_FORMER_SECRET_KEY: OLD },
		clock,
	);
	equal((await rekey(workplace, { endClicks: false, tell: () => undefined })).ok, true);
	await workplace.close();
	let reason = "";
	void service.outdated.then((error) => (reason = error.message));
	await untilOnClock(
		clock,
		"it is unready",
		async () => (await fetch(`${service.url}/readyz`)).status === 503,
		100,
	);
	await untilOnClock(clock, "it is to stop", () => reason !== "", 100);
	match(reason, /The sealing key was replaced by one that this process does not know/);
});

test("a backup that is made during a replacement has both keys, and the replacement continues after its restore", async (t) => {
	const home = openHome(t);
	await fill(home);
	const before = await readHere(home, OLD);
	const words = ["--passphrase-file", writePassphrase(home.folder)];
	const [early, middle, late] = ["early", "middle", "late"].map((name) =>
		join(home.folder, `${name}.backup`),
	) as [string, string, string];
	await backUp(home, early, words);
	const killed = home.startScript("test/backup/killed-rekey.ts", ["reseal", "after"]);
	equal((await killed.ended()).signal, "SIGKILL");
	await backUp(home, middle, words);
	const refused = await home.runHere(["move", "postgres://ringback@127.0.0.1:1/ringback"]);
	match(refused.stderr, /^The replacement of the sealing key in .* is not finished\. Run `ringback rekey`/m);
	const doctor = await home.runHere(["doctor"]);
	match(doctor.stdout, /^WARNING +key +\d+ values are still sealed by a former key\. Run `ringback rekey`/m);
	match(doctor.stdout, /^WARNING +key +The replacement of the sealing key began at/m);
	equal((await home.runHere(["rekey"])).code, 0);
	await backUp(home, late, words);
	const present = keyAt(`${home.databasePath}.key`);

	for (const [backup, expected] of [
		[middle, "two"],
		[late, "one"],
	] as const) {
		const to = join(home.folder, `${expected}.db`);
		const restored = await home.runHere(["restore", backup, "--to", to, ...words]);
		equal(restored.code, 0, restored.stderr);
		const settings = settingsOf(to);
		match((await home.runHere(["verify"], settings)).stdout, /^ok +key +it opens all/m);
		equal((await home.runHere(["rekey"], settings)).code, 0);
		const texts = await withWorkplace(settings, ({ store }) => readAll(store.db, keyAt(`${to}.key`)));
		deepEqual(texts, before, `${expected} key`);
		equal(readdirSync(home.folder).includes(`${expected}.db.key.new`), false);
	}
	equal(keyAt(join(home.folder, "two.db.key")), present, "the interrupted replacement was continued");

	// A backup from before the replacement brings the former key. It is replaced again.
	const again = await home.runHere(["restore", early, "--force", ...words]);
	equal(again.code, 0, again.stderr);
	match(again.stdout, /another sealing key than the one that was here .*`ringback rekey`/);
	equal(keyAt(`${home.databasePath}.key`), OLD);
	equal((await home.runHere(["rekey"])).code, 0);
	deepEqual(await readHere(home, keyAt(`${home.databasePath}.key`)), before);
});

test("with RINGBACK_SECRET_KEY, a restored backup from before the replacement needs the former key and the command", async (t) => {
	const home = openHome(t);
	await fill(home);
	const before = await readHere(home, OLD);
	const words = ["--passphrase-file", writePassphrase(home.folder)];
	const backup = join(home.folder, "one.backup");
	await backUp(home, backup, words);
	const to = join(home.folder, "restored.db");
	const settings = { ...settingsOf(to), RINGBACK_SECRET_KEY: NEW };
	const restored = await home.runHere(["restore", backup, "--to", to, ...words], settings);
	match(restored.stdout, /RINGBACK_FORMER_SECRET_KEY_FILE=\S+restored\.db\.key/);
	const refused = await home.runHere(["rekey"], settings);
	equal(refused.code, 1);
	match(refused.stderr, /RINGBACK_FORMER_SECRET_KEY/);
	equal(hasStack(refused), false);
	const both = { ...settings, RINGBACK_FORMER_SECRET_KEY_FILE: `${to}.key` };
	match(
		(await home.runHere(["doctor"], both)).stdout,
		/^WARNING +key +the key \w+ seals, and RINGBACK_SECRET_KEY is/m,
	);
	equal((await home.runHere(["rekey"], both)).code, 0);
	match(
		(await home.runHere(["doctor"], both)).stdout,
		/^WARNING +key +nothing is sealed by a former key\. Remove/m,
	);
	const texts = await withWorkplace(settings, ({ store }) => readAll(store.db, NEW));
	deepEqual(texts, before);
	const twice = await home.runHere(["rekey"], { ...settings, RINGBACK_FORMER_SECRET_KEY: NEW });
	equal(twice.code, 2);
	match(twice.stderr, /RINGBACK_FORMER_SECRET_KEY is the same key as RINGBACK_SECRET_KEY/);
	const third = await home.runHere(["rekey", "--dry-run", "--json"], {
		...settings,
		RINGBACK_SECRET_KEY: THIRD,
		RINGBACK_FORMER_SECRET_KEY: NEW,
	});
	const plan = JSON.parse(third.stdout);
	deepEqual(
		[plan.isDryRun, plan.presentId, plan.nextId],
		[true, keyIdOf(bytesOf(NEW)), keyIdOf(bytesOf(THIRD))],
	);
});

/** Makes a backup. The sample network breaks rules of the ledger, so the command warns and exits with 1. */
async function backUp(home: Home, path: string, words: readonly string[]): Promise<void> {
	const { stdout, stderr } = await home.runHere(["backup", path, ...words]);
	match(stdout, /the key is in it, sealed by the passphrase/, stderr);
}

async function openCommand(environment: Record<string, string>, clock: Clock): Promise<Workplace> {
	const read = readConfig(environment);
	if (!read.ok) throw new Error(read.problems.join("\n"));
	return openWorkplace(read.config, { log: createLog(), clock, readTime: async () => clock.nowMs() });
}
