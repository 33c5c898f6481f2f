// Tests the replacement of the sealing key on both databases: that everything is sealed again, that processes can read
// and write at every moment, and that nothing is replaced while a process does not know the new key.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { createKeyRing, type KeyRing, keyIdOf } from "#core/domain/key-ring.ts";
import type { Clock } from "#core/ports.ts";
import { SEALED_COLUMNS } from "#core/store/queries/sealed-values.ts";
import {
	isReplacing,
	lockSealingKey,
	readSealingKey,
	sealingKeyIn,
	UnknownSealingKeyError,
} from "#core/store/queries/sealing-key.ts";
import { saveProcess } from "#core/store/queries/system.ts";
import type { Store } from "#core/store/store.ts";
import { readConfig } from "../../src/config.ts";
import { planRekey, type RekeyReport, rekey } from "../../src/service/rekey.ts";
import { openWorkplace, type Workplace } from "../../src/service/workplace.ts";
import { createClock } from "../support/clock.ts";
import { createLog } from "../support/log.ts";
import { expectValue } from "../support/shop-account.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { until, untilOnClock } from "../support/until.ts";
import {
	acceptOutside,
	addErasure,
	assertReplaced,
	bytesOf,
	createSealedDatabase,
	enqueueMails,
	makeOutside,
	NEW,
	OLD,
	readAll,
	THIRD,
} from "./rekey-setup.ts";

const tell = (): void => undefined;
const ring = (...keys: readonly string[]): KeyRing => createKeyRing(keys.map(bytesOf));
const idOf = (key: string): string => keyIdOf(bytesOf(key));

async function open(
	{ url }: TestDatabase,
	secretKey: string,
	formerKey: string | null = null,
	clock?: Clock,
): Promise<Workplace> {
	const read = readConfig({
		DATABASE_URL: url,
		RINGBACK_SECRET_KEY: secretKey,
		...(formerKey === null ? {} : { RINGBACK_FORMER_SECRET_KEY: formerKey }),
	});
	if (!read.ok) throw new Error(read.problems.join("\n"));
	return openWorkplace(read.config, { log: createLog(), ...(clock === undefined ? {} : { clock }) });
}

async function replaceOld(workplace: Workplace, endClicks = false): Promise<RekeyReport> {
	return expectValue(await rekey(workplace, { endClicks, tell }));
}

/** Adds a row of a process that runs, with the keys that it reports. */
function addProcess(store: Store, instance: string, knownKeys: string | null): Promise<void> {
	const nowMs = Date.now();
	const engine = { in_hand: null, programmes_due: null, oldest_due_at_ms: null, most_in_flight: null };
	const record = { instance, host: `host-${instance}`, role: "web", version: "1.0.0", ...engine };
	const times = { started_at_ms: nowMs, seen_at_ms: nowMs };
	return saveProcess(store.db, { ...record, ...times, mail_failed_at_ms: null, mail_error: null }, knownKeys);
}

for (const kind of DATABASE_KINDS) {
	test(`everything is sealed again, and what is outside the database stays good (${kind})`, async (t) => {
		const database = await createSealedDatabase(t, kind);
		const first = await open(database, OLD);
		await enqueueMails(first.store, first.keyRing, 3);
		await addErasure(first.store, OLD);
		const before = await readAll(first.store.db, OLD);
		const outside = makeOutside(first.keyRing);
		equal((await readSealingKey(first.store.db)).present_id, idOf(OLD), "the key in use is found by trial");
		await first.close();
		const tables = new Set(before.map((text) => text?.split(" ")[0]));
		deepEqual(
			[...tables].sort(),
			SEALED_COLUMNS.filter(({ table }) => table !== "kept_keys")
				.map(({ table, column }) => `${table}.${column}`)
				.sort(),
			"the database has sealed values of each kind",
		);

		const both = await open(database, NEW, OLD);
		equal((await planRekey(both)).presentId, idOf(OLD), "the former key seals until the command runs");
		const report = await replaceOld(both);
		deepEqual([report.isReplaced, report.presentId, report.formerId], [true, idOf(NEW), idOf(OLD)]);
		deepEqual([report.unopened.size, report.keptAside, report.isInFiles], [0, null, false]);
		equal(
			[...report.resealed.values()].reduce((sum, count) => sum + count, 0),
			before.length,
		);
		await assertReplaced(both.store.db, { before, key: NEW, without: OLD });
		deepEqual((await replaceOld(both)).isReplaced, false, "a second run has nothing to do");
		await both.close();

		const last = await open(database, NEW);
		deepEqual(await acceptOutside(last.store.db, last.keyRing, outside), {
			...{ click: true, cursor: true, cookie: true },
		});
		const stranger = makeOutside(ring(THIRD));
		deepEqual(await acceptOutside(last.store.db, last.keyRing, stranger), {
			...{ click: false, cursor: false, cookie: false },
		});
		const [entry] = await last.store.db
			.selectFrom("audit_entries")
			.select(["action", "detail"])
			.orderBy("id", "desc")
			.limit(1)
			.execute();
		deepEqual(entry, { action: "sealing_key.replaced", detail: `${idOf(OLD)} → ${idOf(NEW)}` });
		await last.close();
		await rejects(open(database, OLD), /RINGBACK_SECRET_KEY is not the key .* RINGBACK_FORMER_SECRET_KEY/);
	});

	test(`nothing is replaced while a process runs that does not know the new key (${kind})`, async (t) => {
		const database = await createSealedDatabase(t, kind);
		const both = await open(database, NEW, OLD);
		const { store } = both;
		await addProcess(store, "aware", `${idOf(OLD)} ${idOf(NEW)}`);
		await addProcess(store, "former", null);
		const before = await readAll(store.db, OLD);
		deepEqual((await planRekey(both)).unaware, ["web former on host-former (version 1.0.0)"]);
		// The process reports again, as one does that still runs.
		const later = { ...both, clock: { ...both.clock, after: afterReports(store, "former") } };
		const refused = await rekey(later, { endClicks: false, tell });
		ok(!refused.ok);
		equal(refused.fault.code, "rekey_waits_for_processes");
		match(refused.fault.detail, /web former on host-former .*RINGBACK_FORMER_SECRET_KEY/);
		equal(refused.fault.detail.includes("aware"), false);
		deepEqual(await readAll(store.db, OLD), before);
		equal((await readSealingKey(store.db)).present_id, idOf(OLD));
		await store.db.deleteFrom("processes").where("instance", "=", "former").execute();
		await replaceOld(both);
		await both.close();
	});

	test(`two commands at once both end well, and seal everything by the new key (${kind})`, async (t) => {
		const database = await createSealedDatabase(t, kind);
		const one = await open(database, NEW, OLD);
		const other = kind === "SQLite" ? one : await open(database, NEW, OLD);
		await enqueueMails(one.store, one.keyRing, 150);
		const before = await readAll(one.store.db, OLD);
		const reports = await Promise.all([replaceOld(one), replaceOld(other)]);
		deepEqual(
			reports.map(({ unopened }) => unopened.size),
			[0, 0],
		);
		await assertReplaced(one.store.db, { before, key: NEW, without: OLD });
		await one.close();
		if (other !== one) await other.close();
	});

	test(`what is sealed while the command runs is sealed so that the new key opens it (${kind})`, async (t) => {
		const database = await createSealedDatabase(t, kind);
		const both = await open(database, NEW, OLD);
		const before = (await readAll(both.store.db, OLD)).length;
		// This process has not heard of the replacement yet.
		const writer = kind === "SQLite" ? both.store : database.open();
		const writerRing = ring(NEW, OLD);
		writerRing.follow({ presentId: idOf(OLD), formerId: null, kept: new Map() });
		let isDone = false;
		let written = 0;
		const writing = (async () => {
			while (!isDone) {
				await enqueueMails(writer, writerRing, 1);
				written++;
				await setImmediate();
			}
		})();
		await until(() => written > 5);
		const report = await replaceOld(both);
		const writtenBefore = written;
		await until(() => written > writtenBefore + 5);
		isDone = true;
		await writing;
		equal(report.unopened.size, 0);
		const texts = await readAll(both.store.db, NEW);
		deepEqual(
			texts.filter((text) => text === null),
			[],
			`all of ${written} mails open with the new key alone`,
		);
		equal(texts.length, before + written);
		if (writer !== both.store) await writer.close();
		await both.close();
	});

	test(`a statement still never changes, except for its sealed part (${kind})`, async (t) => {
		const database = await createSealedDatabase(t, kind);
		const both = await open(database, NEW, OLD);
		const { db } = both.store;
		await db.updateTable("statements").set({ sealed_parties: "x" }).execute();
		for (const change of [
			{ total: "1.00" },
			{ number: "2026-9999" },
			{ is_carried: 0 as const },
			{ seq: 9 },
		]) {
			await rejects(db.updateTable("statements").set(change).execute(), /statements is append-only/);
		}
		await rejects(db.deleteFrom("statements").execute(), /statements is append-only/);
		await both.close();
	});
}

test("click IDs of the former key end on request, also after the replacement", async (t) => {
	const database = await createSealedDatabase(t, "SQLite");
	const both = await open(database, NEW, OLD);
	const outside = makeOutside(both.keyRing);
	await replaceOld(both);
	deepEqual(await acceptOutside(both.store.db, both.keyRing, outside), {
		...{ click: true, cursor: true, cookie: true },
	});
	equal((await replaceOld(both, true)).hasEndedClicks, true);
	deepEqual(
		await acceptOutside(both.store.db, both.keyRing, outside),
		{ ...{ click: false, cursor: true, cookie: true } },
		"although the former key is still in the settings",
	);
	equal((await replaceOld(both, true)).hasEndedClicks, false);
	await both.close();
});

test("click IDs that end with the replacement itself are reported and audited, and end when no process makes them any more", async (t) => {
	const database = await createSealedDatabase(t, "SQLite");
	const clock = createClock(Date.now());
	const both = await open(database, NEW, OLD, clock);
	const outside = makeOutside(both.keyRing);
	await addProcess(both.store, "one", `${idOf(OLD)} ${idOf(NEW)}`);
	const rekeyed = replaceOld(both, true);
	let isDone = false;
	void rekeyed.then(() => (isDone = true));
	await untilOnClock(
		clock,
		"the key is replaced",
		async () => (await readSealingKey(both.store.db)).present_id === idOf(NEW),
	);
	const { replaced_at_ms: replacedAtMs } = await readSealingKey(both.store.db);
	await clock.moveTo((replacedAtMs ?? 0) + 9_000);
	equal(isDone, false, "a process may still make click IDs with the former key");
	equal((await acceptOutside(both.store.db, both.keyRing, outside)).click, true);
	await untilOnClock(clock, "the command ends", () => isDone, 100);
	equal((await rekeyed).hasEndedClicks, true);
	equal((await acceptOutside(both.store.db, both.keyRing, outside)).click, false);
	const audited = both.store.db
		.selectFrom("audit_entries")
		.select("action")
		.where("action", "like", "sealing_key.%");
	deepEqual(
		(await audited.orderBy("id").execute()).map(({ action }) => action),
		["sealing_key.replaced", "sealing_key.clicks_ended"],
	);
	await both.close();
});

test("a second replacement keeps what is still good of the first key", async (t) => {
	const database = await createSealedDatabase(t, "SQLite");
	const first = await open(database, NEW, OLD);
	const outside = makeOutside(first.keyRing);
	await replaceOld(first);
	await first.close();
	const second = await open(database, THIRD, NEW);
	const later = makeOutside(second.keyRing);
	await replaceOld(second);
	await second.close();
	const last = await open(database, THIRD);
	for (const one of [outside, later]) {
		deepEqual(await acceptOutside(last.store.db, last.keyRing, one), {
			...{ click: true, cursor: true, cookie: true },
		});
	}
	await last.close();
});

test("a command with another new key changes nothing while the first is not finished", async (t) => {
	const database = await createSealedDatabase(t, "SQLite");
	const one = await open(database, NEW, OLD);
	const before = await readAll(one.store.db, OLD);
	await beginReplacing(one);
	const other = {
		...one,
		config: { ...one.config, secretKey: bytesOf(THIRD) },
		keyRing: ring(THIRD, OLD, NEW),
	};
	const refused = await rekey(other, { endClicks: false, tell });
	ok(!refused.ok);
	equal(refused.fault.code, "rekey_under_way");
	match(refused.fault.detail, new RegExp(idOf(NEW)));
	await replaceOld(one);
	await assertReplaced(one.store.db, { before, key: NEW, without: OLD });
	await one.close();
});

test("a process without the former key does not start until the replacement is finished", async (t) => {
	const database = await createSealedDatabase(t, "SQLite");
	const both = await open(database, NEW, OLD);
	await beginReplacing(both);
	await rejects(
		open(database, NEW),
		(error: Error) =>
			error.message.includes("RINGBACK_FORMER_SECRET_KEY") && error.message.includes(idOf(OLD)),
	);
	await replaceOld(both);
	await both.close();
	await (await open(database, NEW)).close();
});

test("a transaction seals nothing with a key that its process knows no more", async (t) => {
	const database = await createSealedDatabase(t, "SQLite");
	const both = await open(database, NEW, OLD);
	await replaceOld(both);
	const behind = ring(OLD);
	behind.follow({ presentId: idOf(OLD), formerId: null, kept: new Map() });
	await rejects(
		both.store.transact((trx) => sealingKeyIn(trx, behind)),
		UnknownSealingKeyError,
	);
	await rejects(sealingKeyIn(both.store.db, both.keyRing), /only in the transaction/);
	await both.close();
});

test("a value that no key opens stays as it is and is reported", async (t) => {
	const database = await createSealedDatabase(t, "SQLite");
	const both = await open(database, NEW, OLD);
	await both.store.db.updateTable("payment_details").set({ sealed: "bm90aGluZw==" }).execute();
	const report = await replaceOld(both);
	deepEqual([...report.unopened.keys()], ["payment_details"]);
	const { sealed } = await both.store.db
		.selectFrom("payment_details")
		.select("sealed")
		.executeTakeFirstOrThrow();
	equal(sealed, "bm90aGluZw==");
	equal(isReplacing(await readSealingKey(both.store.db)), false, "the replacement is finished all the same");
	await both.close();
});

test("every column with a sealed value is in the list of those that are sealed again", async (t) => {
	const database = await createSealedDatabase(t, "SQLite");
	const workplace = await open(database, OLD);
	const tables = await workplace.store.db.introspection.getTables();
	const named = tables.flatMap(({ name, columns }) =>
		columns.filter((column) => /^sealed(?:_|$)/.test(column.name)).map((column) => `${name}.${column.name}`),
	);
	const listed = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`);
	deepEqual(
		named.filter((column) => !listed.includes(column)),
		[],
	);
	for (const column of listed) {
		const [table = "", name = ""] = column.split(".");
		const found = tables.find((one) => one.name === table)?.columns.some((one) => one.name === name);
		equal(found, true, column);
	}
	await workplace.close();
});

test("the replacement waits for a transaction that has sealed with the former key (PostgreSQL)", async (t) => {
	const database = await createSealedDatabase(t, "PostgreSQL");
	const both = await open(database, NEW, OLD);
	const rival = database.open();
	const before = await readAll(both.store.db, OLD);
	const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
	const { promise: hasSealed, resolve: sealed } = Promise.withResolvers<void>();
	const writerRing = ring(NEW, OLD);
	writerRing.follow({ presentId: idOf(OLD), formerId: null, kept: new Map() });
	const writing = rival.transact(async (trx) => {
		const key = await sealingKeyIn(trx, writerRing);
		equal(keyIdOf(key), idOf(OLD));
		sealed();
		await mayCommit;
	});
	await hasSealed;
	let isReplaced = false;
	const replacing = replaceOld(both).then((report) => {
		isReplaced = true;
		return report;
	});
	await until(async () => {
		const { rows } = await sql<{ n: number }>`select count(*) as n from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`.execute(rival.db);
		return Number(rows[0]?.n) > 0;
	});
	equal(isReplaced, false);
	equal((await readSealingKey(rival.db)).present_id, idOf(OLD));
	commit();
	await writing;
	await replacing;
	await assertReplaced(both.store.db, { before, key: NEW, without: OLD });
	await rival.close();
	await both.close();
});

/** Brings the database to the moment at which the new key seals and nothing was sealed again yet. */
async function beginReplacing(workplace: Workplace): Promise<void> {
	const { store } = workplace;
	const interrupted = new Error("interrupted");
	let count = 0;
	const transact: Store["transact"] = (work, options) => {
		// The first two transactions announce the key and replace it.
		if (++count > 2) throw interrupted;
		return store.transact(work, options);
	};
	const cut = { ...workplace, store: Object.assign(Object.create(store), { transact }) as Store };
	await rejects(rekey(cut, { endClicks: false, tell }), interrupted);
	equal(isReplacing(await readSealingKey(store.db)), true);
	await store.transact((trx) => lockSealingKey(trx));
}

/** Returns `after` of a clock that lets the process report again before each wait ends. */
function afterReports(store: Store, instance: string): Workplace["clock"]["after"] {
	return (_delayMs, run) => {
		const seenAtMs = Date.now() + 20_000;
		void store.db
			.updateTable("processes")
			.set({ seen_at_ms: seenAtMs })
			.where("instance", "=", instance)
			.execute()
			.then(run);
		return () => undefined;
	};
}
