// Tests the lists that people page through, on both databases. Any part of an order id finds the order, in
// upper or lower case. Every sort order and filter gives exactly the matching rows, once each and in order.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { sql } from "kysely";
import { EVENT_TYPES, STATUSES } from "#core/domain/conversion.ts";
import type { Cursor } from "#core/domain/cursor.ts";
import { readOrderSearch } from "#core/domain/order-id.ts";
import { HOUR_MS } from "#core/domain/time.ts";
import {
	type ConversionFilter,
	type ConversionSort,
	collectMatches,
	listConversions,
	readAllConversions,
} from "#core/store/queries/conversion-list.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { interruptAfter } from "../support/between-statements.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { analyseAsInService } from "../support/query-plan.ts";
import { addConversions, addProgramme, newConversion } from "../support/rows.ts";

/**
 * Number of conversions. The event type changes after every hundred, so each of the ODD order ids occurs once
 * with each event type.
 */
const ROWS = 700;
/** Order ids with unusual characters. */
const ODD = [
	"Z/é-1",
	"Z/É-1",
	"STRASSE-straße 2",
	"Z/💶9",
	"Z/~tilde",
	"Z/日本-3",
	"100%_a\\b",
	"MÜLLER 7",
	"SİPARİŞ-9",
];

eachDatabase("search and order of conversions", (database) => {
	let programme: Programme;
	let other: Programme;
	let all: Conversion[];

	before(async () => {
		const { store } = database;
		programme = await addProgramme(store);
		other = await addProgramme(store);
		const rows = Array.from({ length: ROWS }, (_, index) =>
			newConversion(index % 5 === 4 ? other.id : programme.id, {
				order_id: ODD[index % 100] ?? `G-${String(index).padStart(5, "0")}`,
				status: STATUSES[index % STATUSES.length] ?? "RECORDED",
				event_type: EVENT_TYPES[Math.floor(index / 100) % EVENT_TYPES.length] ?? "SALE",
				test: index % 11 === 0 ? 1 : 0,
				basket_value: `${(index * 37) % 1_000}.50`,
				occurred_at_ms: START_MS + ((index * 7_919) % ROWS) * HOUR_MS,
				created_at_ms: START_MS + index * HOUR_MS,
			}),
		);
		all = await store.db.insertInto("conversions").values(rows).returningAll().execute();
		all.sort((one, next) => next.id - one.id);
		// Without statistics PostgreSQL reads the whole table for each part of a list, which makes this file slow.
		await analyseAsInService(store);
	});

	async function pages(filter: ConversionFilter, sort?: ConversionSort, limit = 9): Promise<number[]> {
		const found: number[] = [];
		for (let after: Cursor | undefined, page = 0; page < 1_000; page++) {
			const next = await listConversions(database.store.db, { ...filter, sort, after, limit });
			ok(next.rows.length <= limit);
			found.push(...next.rows.map(({ id }) => id));
			if (next.next === null) return found;
			after = next.next;
		}
		throw new Error("the list does not end");
	}

	async function exported(filter: ConversionFilter, sort?: ConversionSort, limit = 7): Promise<number[]> {
		const found: number[] = [];
		for await (const batch of readAllConversions(database.store.db, filter, limit, sort)) {
			found.push(...batch.map(({ id }) => id));
		}
		return found;
	}

	const idsOf = (rows: readonly Conversion[]) => rows.map(({ id }) => id);
	const own = () => all.filter((row) => row.programme_id === programme.id);
	const having = (text: string) => (row: Conversion) =>
		row.order_id.toLowerCase().includes(text.toLowerCase());

	const TYPED = [
		"G-00117",
		"g-00117",
		"00117",
		"117",
		"7",
		"g",
		"-0",
		"z/E-1",
		"strasse",
		"Straße",
		"日本",
		"💶",
		"SİPARİŞ-9",
	];
	const ODDLY_TYPED = ["%_A", "100%_A\\b", "\\", "_", "%", "müller 7", "0,1", "11\t7", "no such order"];

	test("any part of an order id in upper or lower case finds the orders of a programme and of all programmes", async () => {
		for (const text of [...TYPED, ...ODDLY_TYPED]) {
			const search = readOrderSearch(text);
			const expected = idsOf(own().filter(having(text)));
			deepEqual(await pages({ programmeId: programme.id, search }, undefined, 250), expected, text);
			deepEqual(await exported({ programmeId: programme.id, search }, undefined, 250), expected, text);
			deepEqual(await pages({ search }, undefined, 250), idsOf(all.filter(having(text))), text);
			deepEqual(await exported({ search }, undefined, 250), idsOf(all.filter(having(text))), text);
		}
		deepEqual(
			await pages({ search: readOrderSearch("%_") }),
			await pages({ search: readOrderSearch("100%_a") }),
		);
	});

	test("a conversion id finds its conversion in upper or lower case, and only in its programme", async () => {
		const [row] = own();
		ok(row !== undefined);
		for (const text of [row.public_id, row.public_id.toLowerCase(), ` ${row.public_id} `]) {
			const search = readOrderSearch(text);
			deepEqual(search, { kind: "conversion", publicId: row.public_id });
			deepEqual(await pages({ programmeId: programme.id, search }), [row.id]);
			deepEqual(await pages({ search }), [row.id]);
			deepEqual(await pages({ programmeId: other.id, search }), []);
		}
	});

	test("a search can be combined with every filter and every sort order, page by page", async () => {
		const filters: readonly (readonly [ConversionFilter, (row: Conversion) => boolean])[] = [
			[{}, () => true],
			[{ status: "REJECTED" }, (row) => row.status === "REJECTED"],
			[{ eventType: "LEAD", isTest: false }, (row) => row.event_type === "LEAD" && row.test === 0],
			[
				{ fromMs: START_MS + 100 * HOUR_MS, beforeMs: START_MS + 500 * HOUR_MS },
				({ created_at_ms: at }) => at >= START_MS + 100 * HOUR_MS && at < START_MS + 500 * HOUR_MS,
			],
			[
				{ soldFromMs: START_MS + 200 * HOUR_MS, soldBeforeMs: START_MS + 300 * HOUR_MS },
				({ occurred_at_ms: at }) => at >= START_MS + 200 * HOUR_MS && at < START_MS + 300 * HOUR_MS,
			],
		];
		const keys = {
			recorded: (row: Conversion) => row.id,
			sale: (row: Conversion) => row.occurred_at_ms,
			basket: (row: Conversion) => Number(row.basket_value) * 100,
		} as const;
		const text = "11";
		const search = readOrderSearch(text);
		for (const [filter, matches] of filters) {
			const found = own().filter((row) => matches(row) && having(text)(row));
			const asked = { ...filter, search, programmeId: programme.id };
			const collected = await collectMatches(database.store.db, asked);
			deepEqual(new Set(collected.rows?.map(({ id }) => id)), new Set(idsOf(found)));
			equal(collected.count, found.length);
			for (const by of ["recorded", "sale", "basket"] as const) {
				for (const direction of ["asc", "desc"] as const) {
					const sign = direction === "asc" ? 1 : -1;
					const key = keys[by];
					const sorted = found.toSorted((one, next) => sign * (key(one) - key(next) || one.id - next.id));
					const what = JSON.stringify({ ...filter, by, direction });
					// There are two pages, and the second begins after the last row of the first.
					const limit = Math.max(7, Math.ceil(sorted.length / 2));
					deepEqual(await pages(asked, { by, direction }, limit), idsOf(sorted), what);
					deepEqual(await exported(asked, { by, direction }, limit), idsOf(sorted), what);
				}
			}
		}
	});

	test("each filter narrows the list of all programmes", async () => {
		deepEqual(await pages({}, undefined, 60), idsOf(all));
		const theirs = all.filter((row) => row.programme_id === other.id);
		deepEqual(await pages({ programmeId: other.id }), idsOf(theirs));
		const isRejected = (row: Conversion) => row.status === "REJECTED";
		deepEqual(await pages({ status: "REJECTED" }), idsOf(all.filter(isRejected)));
		const asked = { status: "REJECTED", programmeId: other.id } as const;
		deepEqual(await pages(asked), idsOf(theirs.filter(isRejected)));
	});

	test("a whole order id finds exactly its conversions, the newest first, with filters and pages", async () => {
		const rows = (["SALE", "LEAD"] as const).map((event_type) =>
			newConversion(programme.id, {
				order_id: "A-1",
				event_type,
				status: event_type === "SALE" ? "APPROVED" : "RECORDED",
			}),
		);
		const added = await database.store.db.insertInto("conversions").values(rows).returningAll().execute();
		const ids = idsOf(added);
		const asked = { programmeId: programme.id, orderId: "A-1" };
		for (const limit of [1, 2, 9]) deepEqual(await pages(asked, undefined, limit), ids.toReversed());
		deepEqual(await pages({ ...asked, status: "APPROVED" }), ids.slice(0, 1));
		deepEqual(await exported({ ...asked, orderId: "A-" }), []);
		await database.store.db.deleteFrom("conversions").where("id", "in", ids).execute();
	});

	test("a list continues after its last row even if that row was removed", async () => {
		const { store } = database;
		const { id: programmeId } = await addProgramme(store);
		const rows = ["B-1", "B-2", "B-3"].map((order_id) => newConversion(programmeId, { order_id }));
		await store.db.insertInto("conversions").values(rows).execute();
		const first = await listConversions(store.db, { programmeId, limit: 2 });
		const names = ({ rows }: typeof first) => rows.map(({ order_id }) => order_id);
		deepEqual(names(first), ["B-3", "B-2"]);
		await store.db.deleteFrom("conversions").where("order_id", "=", "B-2").execute();
		const second = await listConversions(store.db, { programmeId, limit: 2, after: first.next ?? undefined });
		deepEqual([names(second), second.next], [["B-1"], null]);
		await store.db.deleteFrom("conversions").where("programme_id", "=", programmeId).execute();
	});

	for (const what of ["a page", "an export"] as const) {
		test(`${what} continues to its end if a row is removed between the two statements that read it`, async () => {
			const { store } = database;
			const { id } = await addProgramme(store);
			const orders = Array.from({ length: 30 }, () => newConversion(id));
			const ids = (await addConversions(store, orders)).sort((one, other) => other - one);
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
			// The rows are removed, because other tests list all programmes.
			await store.db.deleteFrom("conversions").where("programme_id", "=", id).execute();
			const left = ids.filter((one) => one !== ids[3]);
			deepEqual(found, what === "a page" ? left.slice(0, 10) : left);
		});
	}

	/**
	 * Returns the matching rows of the search index itself. New orders are in `order_tail` until they are
	 * indexed.
	 */
	async function indexed(part: string): Promise<number[]> {
		const all = database.store.db.selectFrom("order_search").select("rowid");
		const rows = await all.where("order_id", "like", `%${part}%`).orderBy("rowid", "desc").execute();
		return rows.map(({ rowid }) => rowid);
	}

	async function record(orderIds: readonly string[]): Promise<number[]> {
		const rows = orderIds.map((order_id) => newConversion(programme.id, { order_id }));
		return addConversions(database.store, rows);
	}

	const remove = (ids: readonly number[]) =>
		database.store.db.deleteFrom("conversions").where("id", "in", ids).execute();

	test("a new order is found at once and after thousands of others, and a removed one is not", async () => {
		const search = readOrderSearch("fresh");
		const [first = 0, ...lost] = await record(["Fresh-1", "Fresh-2", "Fresh-3"]);
		const found = [...lost.toReversed(), first];
		deepEqual(await pages({ programmeId: programme.id, search }), found);
		deepEqual(await exported({ search }), found);
		await remove(lost.slice(1));
		deepEqual(await exported({ search }), found.slice(1));
		const later = await record(Array.from({ length: 1_100 }, (_, index) => `after-${index}`));
		deepEqual(await indexed("fresh"), found.slice(1));
		deepEqual(await exported({ search }), found.slice(1));
		await remove(lost.slice(0, 1));
		deepEqual(await exported({ search }), [first]);
		deepEqual(await indexed("fresh"), [first]);
		// SQLite reuses the ids of these removed rows, which had been indexed.
		await remove(later);
		deepEqual(await exported({ search: readOrderSearch("after-") }), []);
		const again = await record(["again-1", "again-2"]);
		deepEqual(await exported({ search: readOrderSearch("again") }), again.toReversed());
		await remove([first, ...again]);
		deepEqual(await exported({ search: readOrderSearch("again") }), []);
		if (database.kind !== "SQLite") return;
		await sql`insert into order_search (order_search) values ('integrity-check')`.execute(database.store.db);
	});

	test("an order before thousands of others is found, in a large shop and in a small one", async () => {
		const { store } = database;
		const [busy, rare] = [await addProgramme(store), await addProgramme(store)];
		const oldest = newConversion(busy.id, { order_id: "SİPARİŞ-10001" });
		await store.db.insertInto("conversions").values(oldest).execute();
		const ids: number[] = [];
		for (let first = 0; first < 2_600; first += 200) {
			const rows = Array.from({ length: 200 }, (_, index) =>
				newConversion((first + index) % 26 === 25 ? rare.id : busy.id, {
					order_id: `merge-${first + index}`,
				}),
			);
			const inserted = await store.db.insertInto("conversions").values(rows).returning("id").execute();
			ids.push(...inserted.map(({ id }) => id));
		}
		const newestFirst = ids.toSorted((one, next) => next - one);
		deepEqual(await pages({ search: readOrderSearch("merge-") }, undefined, 400), newestFirst);
		deepEqual(await exported({ search: readOrderSearch("merge-") }, undefined, 400), newestFirst);
		for (const [{ id: programmeId }, text] of [
			[busy, "MERGE-0"],
			[rare, "merge-25"],
		] as const) {
			const request = { programmeId, search: readOrderSearch(text), limit: 200 };
			const page = await listConversions(store.db, request);
			equal(page.isPartial, false);
			ok(page.rows.some(({ order_id }) => order_id === text.toLowerCase()));
		}
		const search = readOrderSearch(oldest.order_id);
		const { rows } = await listConversions(store.db, { programmeId: busy.id, search, limit: 200 });
		deepEqual(
			rows.map(({ order_id }) => order_id),
			[oldest.order_id],
		);
	});
});
