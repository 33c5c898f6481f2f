// Compares every list of conversions with a filter and a sort of the same rows in memory, on both databases.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { sql } from "kysely";
import { EVENT_TYPES, STATUSES } from "#core/domain/conversion.ts";
import type { Cursor } from "#core/domain/cursor.ts";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import {
	type ConversionFilter,
	type ConversionSort,
	collectMatches,
	listConversions,
	readAllConversions,
} from "#core/store/queries/conversion-list.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import type { Db } from "#core/store/store.ts";
import { KINDS_PER_PROGRAMME, listKind } from "#core/store/tables/conversions.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { analyseAsInService } from "../support/query-plan.ts";
import { addConversion, addProgramme } from "../support/rows.ts";

const ROWS = 150;
/** Number of rows on a page. It is smaller than most lists, so that most lists have several pages. */
const PAGE_ROWS = 11;
/** Statuses and event types that occur in the test data. Lists of all others are empty. */
const USED_STATUSES = ["PARKED", "RECORDED", "APPROVED", "REVERSED"] as const;
const USED_TYPES = ["SALE", "LEAD", "OTHER"] as const;
const EVERY_STATUS = [undefined, ...STATUSES];
const EVERY_TYPE = [undefined, ...EVENT_TYPES];
const EVERY_TEST = [undefined, true, false];
const RANGE = { fromMs: START_MS + 60 * MINUTE_MS, beforeMs: START_MS + 100 * MINUTE_MS };
const DECIDED_RANGE = { decidedFromMs: START_MS + DAY_MS, decidedBeforeMs: START_MS + 3 * DAY_MS };
/** Number of the row before which the clock was set back, by less than an hour. */
const SET_BACK_AT = 120;
const SET_BACK_MS = 50 * MINUTE_MS;
const SOLD_RANGE = { soldFromMs: START_MS - 3 * DAY_MS, soldBeforeMs: START_MS - DAY_MS };

function recordedAt(n: number): number {
	return START_MS + n * MINUTE_MS - (n < SET_BACK_AT ? 0 : SET_BACK_MS);
}

/** Returns the time at which a row changed after it was recorded, or null. Several rows changed at the same time. */
function changedAt(n: number): number | null {
	return n % 5 < 2 ? START_MS + DAY_MS + ((n * 31) % 6) * DAY_MS : null;
}

const SORTS: readonly ConversionSort[] = (["recorded", "sale", "basket"] as const).flatMap((by) =>
	(["asc", "desc"] as const).map((direction) => ({ by, direction })),
);

eachDatabase("lists of conversions", (database) => {
	let [programmeId, emptyProgrammeId] = [0, 0];
	let rows: readonly Conversion[] = [];
	/** Filters whose sums were already checked. */
	const summed = new Set<string>();

	before(async () => {
		const { store } = database;
		const [one, other, empty] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		[programmeId, emptyProgrammeId] = [one.id, empty.id];
		for (let n = 0; n < ROWS; n++) {
			const status = USED_STATUSES[(n * 7) % USED_STATUSES.length] ?? "PARKED";
			await addConversion(store, n % 3 === 0 ? other.id : one.id, {
				status,
				event_type: USED_TYPES[Math.floor(n / 5) % USED_TYPES.length] ?? "SALE",
				test: n % 11 === 0 ? 1 : 0,
				created_at_ms: recordedAt(n),
				decided_at_ms: n % 4 < 2 ? START_MS + ((n * 29) % 8) * (DAY_MS / 2) : null,
				// Several sales have the same time and the same basket value.
				occurred_at_ms: START_MS - ((n * 37) % 10) * (DAY_MS / 2),
				basket_value: `${(n * 53) % 12}.50`,
				updated_at_ms: changedAt(n) ?? recordedAt(n),
			});
		}
		rows = await store.db.selectFrom("conversions").selectAll().execute();
		equal(rows.length, ROWS);
		// Without statistics PostgreSQL reads the whole table for each part of a list, which makes this file slow.
		await analyseAsInService(store);
	});

	/** Reads the list page by page, and checks its rows. */
	async function checkPages(filter: ConversionFilter, sort: ConversionSort): Promise<void> {
		deepEqual(await readPages(database.store.db, filter, sort), idsOf(filter, sort), nameOf(filter, sort));
	}

	/** Checks the list in the three ways in which it is read: by pages, by exports, and for sums. */
	async function checkAll(filter: ConversionFilter, sort: ConversionSort): Promise<void> {
		await checkPages(filter, sort);
		const { db } = database.store;
		const expected = idsOf(filter, sort);
		const exported: number[] = [];
		for await (const batch of readAllConversions(db, filter, 50, sort))
			exported.push(...batch.map(({ id }) => id));
		deepEqual(exported, expected, nameOf(filter, sort));
		// Sums do not depend on the sort order, so each filter is checked once.
		const name = JSON.stringify(filter);
		if (summed.has(name)) return;
		summed.add(name);
		const { rows: collected, count } = await collectMatches(db, filter);
		deepEqual(collected?.map(({ id }) => id).toSorted(ascending), expected.toSorted(ascending));
		equal(count, expected.length);
	}

	/** Returns the expected ids of the list, in order. */
	function idsOf(filter: ConversionFilter, sort: ConversionSort): number[] {
		const matching = rows.filter((row) => matches(row, filter));
		return matching.toSorted((one, other) => compareRows(one, other, sort)).map(({ id }) => id);
	}

	test("every day of recording has its rows, also after the clock was set back by more than a minute", async () => {
		const { store } = database;
		const breaks = await store.db.selectFrom("recording_breaks").select("first_id").execute();
		deepEqual(
			breaks.map(({ first_id }) => first_id),
			[rows.toSorted((one, other) => one.id - other.id)[SET_BACK_AT]?.id],
		);
		const sort = { by: "recorded", direction: "desc" } as const;
		for (let minute = 0; minute < ROWS; minute += 10) {
			const range = { fromMs: START_MS + minute * MINUTE_MS, beforeMs: START_MS + (minute + 10) * MINUTE_MS };
			await checkAll(range, sort);
			await checkAll({ programmeId, fromMs: range.fromMs }, sort);
			await checkAll({ programmeId, beforeMs: range.beforeMs }, sort);
		}
	});

	test("for every status, event type and test flag, the column list_key has the number that the program computes", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const rolledBack = new Error("only to roll back");
		await store
			.transact(async (trx) => {
				for (const status of STATUSES) {
					for (const event_type of EVENT_TYPES) {
						for (const test of [0, 1] as const)
							await addConversion({ ...store, db: trx }, id, { status, event_type, test });
					}
				}
				const stored = await sql<Conversion & { list_kind: number; list_key: number }>`
					select * from conversions where programme_id = ${id}`.execute(trx);
				equal(new Set(stored.rows.map((row) => row.list_key)).size, 84);
				for (const row of stored.rows) {
					equal(row.list_kind, listKind(row));
					equal(row.list_key, id * KINDS_PER_PROGRAMME + listKind(row));
				}
				throw rolledBack;
			})
			.catch((error: unknown) => {
				if (error !== rolledBack) throw error;
			});
	});

	for (const sort of SORTS) {
		test(`a programme's list by ${sort.by}, ${sort.direction}, has the same rows as a filter in memory, for every status, event type and test flag`, async () => {
			for (const status of EVERY_STATUS) {
				await checkAll({ programmeId, status }, sort);
				for (const eventType of EVERY_TYPE) {
					for (const isTest of EVERY_TEST) await checkPages({ programmeId, status, eventType, isTest }, sort);
				}
			}
		});

		test(`a programme's list by ${sort.by}, ${sort.direction}, in a range of recording or of sales has the same rows as a filter in memory`, async () => {
			for (const range of [RANGE, SOLD_RANGE, { ...RANGE, ...SOLD_RANGE }]) {
				for (const status of EVERY_STATUS) await checkAll({ programmeId, status, ...range }, sort);
			}
		});

		test(`a programme's list by ${sort.by}, ${sort.direction}, in a range of decisions has the same rows as a filter in memory`, async () => {
			for (const range of [
				DECIDED_RANGE,
				{ decidedFromMs: 0 },
				{ ...DECIDED_RANGE, ...RANGE, ...SOLD_RANGE },
			]) {
				for (const status of EVERY_STATUS) await checkAll({ programmeId, status, ...range }, sort);
			}
		});

		test(`the list of a programme without conversions by ${sort.by}, ${sort.direction}, is empty`, () =>
			checkAll({ programmeId: emptyProgrammeId }, sort));
	}

	for (const direction of ["asc", "desc"] as const) {
		test(`a programme's list by decision, ${direction}, has the decided rows of a filter in memory`, async () => {
			const sort = { by: "decision", direction } as const;
			for (const range of [
				DECIDED_RANGE,
				{ decidedFromMs: 0 },
				{ ...DECIDED_RANGE, ...RANGE, ...SOLD_RANGE },
			]) {
				for (const status of EVERY_STATUS) await checkAll({ programmeId, status, ...range }, sort);
			}
			await checkAll({ programmeId: emptyProgrammeId, ...DECIDED_RANGE }, sort);
		});

		test(`the list of all programmes by decision, ${direction}, has the decided rows of a filter in memory`, async () => {
			const sort = { by: "decision", direction } as const;
			for (const range of [DECIDED_RANGE, { decidedFromMs: 0 }, { ...DECIDED_RANGE, ...RANGE }]) {
				for (const status of EVERY_STATUS) {
					for (const isTest of EVERY_TEST) await checkAll({ status, isTest, ...range }, sort);
				}
			}
		});

		test(`a programme's list by change, ${direction}, has the rows that changed after they were recorded`, async () => {
			const sort = { by: "change", direction } as const;
			for (const changedFromMs of [0, START_MS + 3 * DAY_MS, START_MS + 30 * DAY_MS]) {
				for (const range of [{}, RANGE]) {
					for (const status of EVERY_STATUS)
						await checkPages({ programmeId, status, changedFromMs, ...range }, sort);
				}
			}
			await checkPages({ programmeId: emptyProgrammeId, changedFromMs: 0 }, sort);
		});

		test(`the list of all programmes, ${direction}, has the same rows as a filter in memory, for every status, event type and test flag`, async () => {
			const sort = { by: "recorded", direction } as const;
			for (const status of EVERY_STATUS) {
				for (const eventType of EVERY_TYPE) {
					for (const isTest of EVERY_TEST) await checkPages({ status, eventType, isTest }, sort);
				}
				await checkAll({ status, ...RANGE }, sort);
			}
		});
	}
});

async function readPages(db: Db, filter: ConversionFilter, sort: ConversionSort): Promise<number[]> {
	const ids: number[] = [];
	let after: Cursor | undefined;
	do {
		const page = await listConversions(db, { ...filter, sort, after, limit: PAGE_ROWS });
		ok(page.rows.length <= PAGE_ROWS);
		ids.push(...page.rows.map(({ id }) => id));
		after = page.next ?? undefined;
	} while (after !== undefined);
	return ids;
}

function matches(row: Conversion, filter: ConversionFilter): boolean {
	const isIn = (value: number, from = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY) =>
		value >= from && value < before;
	return (
		(filter.programmeId === undefined || row.programme_id === filter.programmeId) &&
		(filter.status === undefined || row.status === filter.status) &&
		(filter.eventType === undefined || row.event_type === filter.eventType) &&
		(filter.isTest === undefined || row.test === Number(filter.isTest)) &&
		isIn(row.created_at_ms, filter.fromMs, filter.beforeMs) &&
		isIn(row.occurred_at_ms, filter.soldFromMs, filter.soldBeforeMs) &&
		((filter.decidedFromMs ?? filter.decidedBeforeMs) === undefined ||
			isIn(row.decided_at_ms ?? Number.NaN, filter.decidedFromMs, filter.decidedBeforeMs)) &&
		(filter.changedFromMs === undefined ||
			(row.updated_at_ms > row.created_at_ms && isIn(row.updated_at_ms, filter.changedFromMs)))
	);
}

function compareRows(one: Conversion, other: Conversion, { by, direction }: ConversionSort): number {
	const keyOf = (row: Conversion) => {
		if (by === "recorded") return row.id;
		if (by === "change") return row.updated_at_ms;
		if (by === "decision") return row.decided_at_ms ?? Number.NaN;
		return by === "sale" ? row.occurred_at_ms : Number(row.basket_value);
	};
	const difference = keyOf(one) - keyOf(other) || one.id - other.id;
	return direction === "asc" ? difference : -difference;
}

function nameOf(filter: ConversionFilter, sort: ConversionSort): string {
	return JSON.stringify({ ...filter, sort });
}

function ascending(one: number, other: number): number {
	return one - other;
}
