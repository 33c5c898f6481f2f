// The lists people page through: every filter gives exactly the rows it names, once each, in order; on both databases.

import { deepEqual, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { EVENT_TYPES, STATUSES } from "../../src/domain/conversion.ts";
import type { Cursor } from "../../src/domain/cursor.ts";
import { HOUR_MS } from "../../src/domain/time.ts";
import {
	type ConversionFilter,
	listConversions,
	readAllConversions,
} from "../../src/store/queries/conversion-list.ts";
import { insertConversions } from "../../src/store/queries/conversion-moves.ts";
import type { Conversion } from "../../src/store/queries/conversions.ts";
import type { Programme } from "../../src/store/queries/programmes.ts";
import { interruptAfter } from "../support/between-statements.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme, newConversion } from "../support/rows.ts";

const ROWS = 400;

eachDatabase("lists of conversions", (database) => {
	let programme: Programme;
	let other: Programme;
	let all: Conversion[];

	before(async () => {
		programme = await addProgramme(database.store);
		other = await addProgramme(database.store);
		const rows = Array.from({ length: ROWS }, (_, index) =>
			newConversion(index % 5 === 4 ? other.id : programme.id, {
				order_id: `A-${String(index).padStart(3, "0")}`,
				status: STATUSES[index % STATUSES.length] ?? "RECORDED",
				event_type: EVENT_TYPES[(index * 3) % EVENT_TYPES.length] ?? "SALE",
				test: index % 11 === 0 ? 1 : 0,
				basket_value: `${index}.50`,
				created_at_ms: START_MS + index * HOUR_MS,
			}),
		);
		all = await database.store.db.insertInto("conversions").values(rows).returningAll().execute();
		all.sort((one, next) => next.id - one.id);
	});

	const own = () => all.filter((row) => row.programme_id === programme.id);

	/** Of all programmes, page by page. */
	async function review(filter: ConversionFilter, limit = 40): Promise<Conversion[]> {
		const rows: Conversion[] = [];
		for (let after: Cursor | undefined, page = 0; page < 1_000; page++) {
			const found = await listConversions(database.store.db, { ...filter, after, limit });
			ok(found.rows.length <= limit);
			rows.push(...found.rows);
			if (found.next === null) return rows;
			after = found.next;
		}
		throw new Error("the list does not end");
	}

	async function readAll(filter: ConversionFilter, limit = 31): Promise<string[]> {
		const rows = await review({ ...filter, programmeId: programme.id }, limit);
		const batches: Conversion[] = [];
		const all = readAllConversions(database.store.db, { ...filter, programmeId: programme.id }, limit);
		for await (const batch of all) batches.push(...batch);
		deepEqual(names(batches), names(rows), "the export reads the same list");
		return names(rows);
	}

	const names = (rows: readonly Conversion[]) => rows.map((row) => row.order_id);

	test("without a filter every row comes once, the newest first, and none of another programme", async () => {
		deepEqual(await readAll({}), names(own()));
	});

	for (const filter of [
		{ status: "REJECTED" },
		{ eventType: "LEAD" },
		{ isTest: true },
		{ isTest: false },
		{ status: "RECORDED", eventType: "SALE" },
		{ status: "RECORDED", isTest: false },
		{ status: "APPROVED", eventType: "OTHER", isTest: false },
	] as const) {
		test(`the pages of ${JSON.stringify(filter)} hold every row that matches, once, in order`, async () => {
			const expected = own().filter(
				(row) =>
					(!("status" in filter) || row.status === filter.status) &&
					(!("eventType" in filter) || row.event_type === filter.eventType) &&
					(!("isTest" in filter) || (row.test === 1) === filter.isTest),
			);
			ok(expected.length > 0 && expected.length < own().length);
			deepEqual(await readAll(filter), names(expected));
		});
	}

	for (const what of ["a page", "an export"] as const) {
		test(`${what} goes on to its end when a row goes between the two statements that read it`, async () => {
			const { store } = database;
			const { id } = await addProgramme(store);
			const rows = await insertConversions(
				store.db,
				Array.from({ length: 30 }, () => newConversion(id)),
			);
			const ids = rows.map((row) => row.id).sort((one, other) => other - one);
			const remove = () =>
				store.db
					.deleteFrom("conversions")
					.where("id", "=", ids[3] ?? 0)
					.execute();
			const db = interruptAfter(store.db, 1, remove);
			const found: number[] = [];
			if (what === "a page") {
				const page = await listConversions(db, { programmeId: id, limit: 10 });
				found.push(...page.rows.map((row) => row.id));
				deepEqual(page.next?.id, found.at(-1), "there is a next page");
			} else {
				for await (const batch of readAllConversions(db, { programmeId: id }, 10)) {
					found.push(...batch.map((row) => row.id));
				}
			}
			// The other tests list all programmes.
			await store.db.deleteFrom("conversions").where("programme_id", "=", id).execute();
			const left = ids.filter((one) => one !== ids[3]);
			deepEqual(found, what === "a page" ? left.slice(0, 10) : left);
		});
	}

	test("a range of time holds its first moment and not its last, with filters and without", async () => {
		const fromMs = START_MS + 50 * HOUR_MS;
		const beforeMs = START_MS + 200 * HOUR_MS;
		const inRange = own().filter((row) => row.created_at_ms >= fromMs && row.created_at_ms < beforeMs);
		deepEqual(await readAll({ fromMs, beforeMs }), names(inRange));
		const rejected = inRange.filter((row) => row.status === "REJECTED");
		deepEqual(await readAll({ fromMs, beforeMs, status: "REJECTED" }), names(rejected));
		deepEqual(await readAll({ fromMs: START_MS + ROWS * HOUR_MS }), []);
		deepEqual(await readAll({ beforeMs: START_MS }), []);
	});

	test("a whole order id finds what has exactly this one, the newest first, with filters and by page", async () => {
		const [sale, lead] = ["SALE", "LEAD"] as const;
		const rows = [sale, lead].map((event_type) =>
			newConversion(programme.id, {
				order_id: "A-1",
				event_type,
				status: event_type === sale ? "APPROVED" : "RECORDED",
			}),
		);
		const added = await database.store.db.insertInto("conversions").values(rows).returningAll().execute();
		const types = async (filter: ConversionFilter, limit: number) =>
			(await review({ ...filter, programmeId: programme.id, orderId: "A-1" }, limit)).map(
				(row) => row.event_type,
			);
		for (const limit of [1, 2, 9]) deepEqual(await types({}, limit), [lead, sale]);
		deepEqual(await types({ status: "APPROVED" }, 9), [sale]);
		deepEqual(await readAll({ orderId: "A-" }), []);
		const ids = added.map(({ id }) => id);
		await database.store.db.deleteFrom("conversions").where("id", "in", ids).execute();
	});

	test("a list goes on behind its last row although that has been removed", async () => {
		const { store } = database;
		const { id: programmeId } = await addProgramme(store);
		const rows = ["B-1", "B-2", "B-3"].map((order_id) => newConversion(programmeId, { order_id }));
		await store.db.insertInto("conversions").values(rows).execute();
		const first = await listConversions(store.db, { programmeId, limit: 2 });
		deepEqual(names(first.rows), ["B-3", "B-2"]);
		await store.db.deleteFrom("conversions").where("order_id", "=", "B-2").execute();
		const second = await listConversions(store.db, { programmeId, limit: 2, after: first.next ?? undefined });
		deepEqual([names(second.rows), second.next], [["B-1"], null]);
		await store.db.deleteFrom("conversions").where("programme_id", "=", programmeId).execute();
	});

	test("the list of all programmes, and each filter narrows it", async () => {
		deepEqual(names(await review({})), names(all));
		deepEqual(
			names(await review({ programmeId: other.id })),
			names(all.filter((row) => row.programme_id === other.id)),
		);
		const rejected = all.filter((row) => row.status === "REJECTED");
		deepEqual(names(await review({ status: "REJECTED" })), names(rejected));
		const own = rejected.filter((row) => row.programme_id === other.id);
		deepEqual(names(await review({ status: "REJECTED", programmeId: other.id })), names(own));
		const fromMs = START_MS + 300 * HOUR_MS;
		deepEqual(names(await review({ fromMs })), names(all.filter((row) => row.created_at_ms >= fromMs)));
	});
});
