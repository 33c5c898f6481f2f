// Tests reading rows under their lock, on both databases.

import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { Locked } from "#core/store/locked.ts";
import { lockProgramme, type Programme } from "#core/store/queries/programmes.ts";
import { holdsSomebodyUp } from "../support/between-statements.ts";
import { setProgramme } from "../support/change-rows.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme } from "../support/rows.ts";

/** Type that is true only if an update function does not accept a row that was read without its lock. */
type IsStaleRowRefused = Programme extends Locked<Programme> ? false : true;

eachDatabase("locked rows", (database) => {
	test("a row that was read without its lock cannot be passed to an update function", () => {
		const isRefused: IsStaleRowRefused = true;
		equal(isRefused, true);
	});

	test("a row cannot be locked outside a transaction", async () => {
		const { id } = await addProgramme(database.store);
		await rejects(lockProgramme(database.store.db, id), /only in a transaction/);
	});

	test("a row that does not exist is not found", async () => {
		equal(await database.store.transact((trx) => lockProgramme(trx, 999_999)), undefined);
	});

	test("a locking read waits for another transaction and returns what it stored", async (t) => {
		if (database.kind === "SQLite") return t.skip("a SQLite transaction waits as a whole");
		const { id } = await addProgramme(database.store);
		const waiting = await database.rival.transact(async (trx) => {
			await setProgramme(trx, id, { name: "Renamed" });
			const read = database.store.transact((own) => lockProgramme(own, id));
			while (!(await holdsSomebodyUp(trx)));
			return { read };
		});
		equal((await waiting.read)?.name, "Renamed");
	});

	test("a locked programme does not keep others from inserting rows that refer to it", async (t) => {
		if (database.kind === "SQLite") return t.skip("a SQLite transaction keeps every other writer out");
		const { id, receiver_id } = await addProgramme(database.store);
		const inserted = await database.rival.transact(async (trx) => {
			await lockProgramme(trx, id);
			const row = { receiver_id, url: "https://shop.example/other", saved_at_ms: START_MS };
			return database.store.db.insertInto("endpoints").values(row).returning("url").executeTakeFirst();
		});
		equal(inserted?.url, "https://shop.example/other");
	});
});
