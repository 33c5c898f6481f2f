// Conversions and audit entries with a retention of their own: what is removed is in a file first, line by line, also
// when the process is killed on the way.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { type ArchiveSettings, archiveOld } from "../../src/chores/archive-old.ts";
import { hasReached, isStillTold, startOfFeed } from "../../src/conversions/event-feed.ts";
import type { Status } from "../../src/domain/conversion.ts";
import { DAY_MS } from "../../src/domain/time.ts";
import { openArchiveFolder } from "../../src/outside/archive-folder.ts";
import type { Archive } from "../../src/ports.ts";
import { DUTY_MS } from "../../src/store/archive-duty.ts";
import { insertMoves } from "../../src/store/conversion-moves.ts";
import type { Conversion } from "../../src/store/conversions.ts";
import type { Programme } from "../../src/store/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { insertDueEvents } from "../support/due-events.ts";
import { createLog } from "../support/log.ts";
import { addConversion, addProgramme, newConversion, newOwedEvent } from "../support/rows.ts";
import { openStore } from "../support/test-database.ts";

/** Rows are from START_MS; a day of retention ended two days ago. */
const NOW_MS = START_MS + 3 * DAY_MS;
const PROCESS = fileURLToPath(new URL("./archive-process.ts", import.meta.url));
const never = () => false;

eachDatabase("the archive", (database) => {
	let programme: Programme;
	let folder: string;

	beforeEach(async () => {
		folder = mkdtempSync(join(tmpdir(), "ringback-archive-"));
		const { db } = database.store;
		for (const table of [
			"conversions",
			"moves",
			"events",
			"deliveries",
			"queue",
			"feed_start",
			"archive_duty",
			"audit_entries",
		] as const) {
			await db.deleteFrom(table).execute();
		}
		programme = await addProgramme(database.store);
		await db.deleteFrom("audit_entries").execute();
	});
	afterEach(() => rmSync(folder, { recursive: true }));

	async function add(orderId: string, status: Status, change: Partial<Conversion> = {}): Promise<Conversion> {
		const { store } = database;
		const row = await addConversion(store, programme.id, { order_id: orderId, status, ...change });
		const moves = (["record", "approve"] as const).map((move) => ({
			conversion_id: row.id,
			programme_id: programme.id,
			move,
			to_status: status,
			at_ms: row.updated_at_ms,
		}));
		await store.transact((trx) => insertMoves(trx, moves));
		return row;
	}

	const run = (
		change: Partial<ArchiveSettings> = {},
		isStopping = never,
		{ store = database.store, nowMs = NOW_MS }: { store?: Store; nowMs?: number } = {},
	) => {
		const archive = openArchiveFolder(folder);
		const archiving = { archive, conversionDays: 1, auditDays: 1, ...change };
		return archiveOld({ store, clock: createClock(nowMs), log: createLog(), archiving }, isStopping);
	};
	const files = (what: string) =>
		readdirSync(folder)
			.filter((file) => file.startsWith(what))
			.toSorted();
	const linesOf = (file: string): { order_id: string; moves: unknown[]; [column: string]: unknown }[] =>
		gunzipSync(readFileSync(join(folder, file)))
			.toString()
			.trimEnd()
			.split("\n")
			.map((line) => JSON.parse(line));
	const ordersLeft = async () =>
		(await database.store.db.selectFrom("conversions").select("order_id").orderBy("id").execute()).map(
			(row) => row.order_id,
		);

	test("what is finished and old is in a file with its moves, and gone; the rest stays", async () => {
		const { db } = database.store;
		const old = await add("old", "APPROVED");
		for (const status of ["REJECTED", "REVERSED", "RECORDED", "PARKED"] as const) await add(status, status);
		await add("changed lately", "APPROVED", { updated_at_ms: NOW_MS - DAY_MS });
		const sending = await add("still sent", "APPROVED");
		await insertDueEvents(db, [newOwedEvent(programme, sending.id)], START_MS);
		await add("newest", "APPROVED");
		const moves = await db
			.selectFrom("moves")
			.selectAll()
			.where("conversion_id", "=", old.id)
			.orderBy("id")
			.execute();
		await run();
		deepEqual(await ordersLeft(), ["RECORDED", "PARKED", "changed lately", "still sent", "newest"]);
		equal((await db.selectFrom("moves").select("id").execute()).length, 10, "moves go with their conversion");
		const [file = "", ...others] = files("conversions-2026-01-18T12-00-00Z-");
		deepEqual(others, []);
		const lines = linesOf(file);
		deepEqual(
			lines.map((line) => line.order_id),
			["old", "REJECTED", "REVERSED"],
		);
		deepEqual(lines[0], JSON.parse(JSON.stringify({ ...old, program_id: programme.public_id, moves })));
		await run();
		equal(files("conversions").length, 1, "where there is nothing to archive there is no file");
	});

	test("audit entries go into files of their own, and the newest stays", async () => {
		const { db } = database.store;
		for (const [n, at_ms] of [START_MS, START_MS, NOW_MS, START_MS].entries()) {
			await db
				.insertInto("audit_entries")
				.values({ at_ms, action: `action ${n}` })
				.execute();
		}
		await run({ conversionDays: null });
		const left = await db.selectFrom("audit_entries").select("action").orderBy("id").execute();
		deepEqual(
			left.map(({ action }) => action),
			["action 2", "action 3"],
		);
		const [file = ""] = files("audit-entries-");
		deepEqual(
			linesOf(file).map((line) => line["action"]),
			["action 0", "action 1"],
		);
	});

	test("without a retention of its own nothing is removed or written", async () => {
		await add("old", "APPROVED");
		await add("newest", "APPROVED");
		await run({ conversionDays: null, auditDays: null });
		deepEqual(await ordersLeft(), ["old", "newest"]);
		deepEqual(readdirSync(folder), []);
	});

	test("a disk that takes no more stops the removal, and the chore fails", async () => {
		await add("old", "APPROVED");
		await add("newest", "APPROVED");
		const full: Archive = { store: () => Promise.reject(new Error("ENOSPC: no space left on device")) };
		await rejects(run({ archive: full }), /no space left/);
		deepEqual(await ordersLeft(), ["old", "newest"]);
	});

	test("one that changes after it was written stays", async () => {
		const { db } = database.store;
		const old = await add("old", "APPROVED");
		await add("older", "APPROVED");
		await add("newest", "APPROVED");
		const real = openArchiveFolder(folder);
		const archive: Archive = {
			async store(name, lines) {
				const file = await real.store(name, lines);
				const change = { status: "REVERSED", updated_at_ms: NOW_MS } as const;
				await db.updateTable("conversions").set(change).where("id", "=", old.id).execute();
				return file;
			},
		};
		await run({ archive });
		deepEqual(await ordersLeft(), ["old", "newest"]);
	});

	test("a listener from before what was removed is not let on, and one from after it is", async () => {
		const { store } = database;
		await add("first", "APPROVED");
		const before = await startOfFeed(store);
		await add("old", "APPROVED");
		const behind = await store.db
			.selectFrom("moves")
			.select([store.moveOrder.transaction.as("at"), "id"])
			.execute();
		const last = behind.toSorted((a, b) => a.at - b.at || a.id - b.id).at(-1) ?? before;
		await add("newest", "APPROVED");
		equal(await isStillTold(store, before), true);
		await run();
		deepEqual(await ordersLeft(), ["newest"]);
		equal(await isStillTold(store, before), false);
		equal(await isStillTold(store, last), true, "everything behind it is still there");
		equal(await hasReached(store, last), true);
	});

	async function addMany(count: number): Promise<void> {
		const { db } = database.store;
		for (let made = 0; made < count; made += 500) {
			const rows = Array.from({ length: Math.min(500, count - made) }, (_, n) =>
				newConversion(programme.id, { status: "APPROVED", order_id: `order ${made + n}` }),
			);
			await db.insertInto("conversions").values(rows).execute();
		}
		await add("newest", "RECORDED");
	}

	for (const moment of ["writing", "removing"] as const) {
		test(`killed while ${moment}, nothing is lost: every line is in a whole file in the end`, async () => {
			await addMany(1_200);
			const { status, signal, stderr } = spawnSync(
				process.execPath,
				[PROCESS, database.kind, database.location, folder, moment],
				{ encoding: "utf8" },
			);
			deepEqual([status, signal], [null, "SIGKILL"], stderr);
			equal((await ordersLeft()).length, 1_201, "nothing goes before its file is whole");
			equal(files("conversions").filter((file) => file.endsWith(".gz")).length, moment === "writing" ? 0 : 1);
			await run({ auditDays: null });
			equal((await ordersLeft()).length, 1_201, "the one that was killed is still on duty");
			await run({ auditDays: null }, never, { nowMs: NOW_MS + 2 * DUTY_MS });
			deepEqual(await ordersLeft(), ["newest"]);
			const whole = files("conversions").filter((file) => file.endsWith(".gz"));
			const archived = whole.flatMap((file) => linesOf(file).map((line) => line.order_id));
			equal(new Set(archived).size, 1_200);
		});
	}

	test("of two workers at once one archives, and each line is in one file", async (t) => {
		// Two stores in one process would wait for each other at the file, and with them the whole test.
		if (database.kind === "SQLite") return t.skip("needs two processes");
		await addMany(1_200);
		const { db } = database.store;
		for (let n = 0; n < 600; n++)
			await db
				.insertInto("audit_entries")
				.values({ at_ms: START_MS, action: `action ${n}` })
				.execute();
		const other = openStore(database.kind, database.location);
		try {
			await Promise.all([run(), run({}, never, { store: other })]);
		} finally {
			await other.close();
		}
		deepEqual(await ordersLeft(), ["newest"]);
		const archived = files("").flatMap((file) =>
			linesOf(file).map((line) => line.order_id ?? line["action"]),
		);
		equal(archived.length, 1_200 + 599);
		equal(new Set(archived).size, archived.length);
		await add("newer", "RECORDED");
		await add("old after all", "APPROVED");
		await add("newest", "RECORDED", { order_id: "newest of all" });
		await run();
		deepEqual(await ordersLeft(), ["newest", "newer", "newest of all"], "the duty was given back");
	});

	test("one that stood still in the middle of a file writes no second one beside another's", async () => {
		await addMany(700);
		const real = openArchiveFolder(folder);
		/** Stands still until another has done all of it. */
		const archive: Archive = {
			store(name, lines) {
				return real.store(name, standStill(lines));
			},
		};
		async function* standStill(lines: AsyncIterable<string>): AsyncIterable<string> {
			let count = 0;
			for await (const line of lines) {
				yield line;
				if (++count === 500) await run({ auditDays: null }, never, { nowMs: NOW_MS + 2 * DUTY_MS });
			}
		}
		await rejects(run({ archive, auditDays: null }), /another process took over/);
		deepEqual(await ordersLeft(), ["newest"]);
		const archived = readdirSync(folder).flatMap((file) => linesOf(file).map((line) => line.order_id));
		equal(archived.length, 700);
	});

	test("a stop leaves a shorter file that is whole, and what was not written stays", async () => {
		await addMany(1_200);
		let asked = 0;
		await run({ auditDays: null }, () => ++asked > 3);
		const left = await ordersLeft();
		ok(left.length > 1 && left.length < 1_201, `${left.length} are left`);
		const archived = files("conversions").flatMap((file) => linesOf(file));
		equal(archived.length + left.length, 1_201);
		await run({ auditDays: null });
		deepEqual(await ordersLeft(), ["newest"]);
	});
});
