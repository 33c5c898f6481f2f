// What a listener is told, on both databases: every move that announces an event, once, in the order of each
// conversion, also when transactions end in another order than they took their numbers in.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { sql } from "kysely";
import { approveDue } from "../../src/conversions/approve-due.ts";
import { type FeedPage, hasReached, readFeed, startOfFeed } from "../../src/conversions/event-feed.ts";
import { type EventPosition, MAX_GAPS, newGap } from "../../src/domain/event-position.ts";
import { insertMoves, updateIfStill } from "../../src/store/conversions.ts";
import type { Programme } from "../../src/store/programmes.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { analyseAsInService, plansOf } from "../support/query-plan.ts";
import { createRandom } from "../support/random.ts";
import { addConversion, addProgramme } from "../support/rows.ts";
import { until } from "../support/until.ts";

interface Shown {
	event: string;
	orderId: string;
	status: string;
	reason: string | null;
}

eachDatabase("the feed of events", (database) => {
	test("has each announced event once, as it was at that moment, and nothing of parked ones or other shops", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const stranger = await addProgramme(store);
		const start = await startOfFeed(store.db);
		const { id } = await addConversion(store, programme.id, {
			order_id: "A",
			status: "REVERSED",
			reason: "RETURN",
		});
		await addMove(store, id, "record", "RECORDED");
		await addMove(store, id, "approve", "APPROVED");
		await addMove(store, id, "reverse", "REVERSED", "RETURN");
		const parked = await addConversion(store, programme.id, { order_id: "B", status: "RECORDED" });
		await addMove(store, parked.id, "park", "PARKED");
		await addMove(store, parked.id, "confirm", "RECORDED");
		const expired = await addConversion(store, programme.id, { order_id: "C", status: "EXPIRED" });
		await addMove(store, expired.id, "park", "PARKED");
		await addMove(store, expired.id, "expire", "EXPIRED");
		const foreign = await addConversion(store, stranger.id);
		await addMove(store, foreign.id, "record", "RECORDED");
		const page = await read(store, programme, start);
		deepEqual(shown(page), [
			{ event: "conversion.recorded", orderId: "A", status: "RECORDED", reason: null },
			{ event: "conversion.approved", orderId: "A", status: "APPROVED", reason: null },
			{ event: "conversion.reversed", orderId: "A", status: "REVERSED", reason: "RETURN" },
		]);
		deepEqual(shown(await read(store, programme, page.position)), [], "once");
		const [first, second] = page.events;
		if (first === undefined || second === undefined) throw new Error("three events were just counted");
		deepEqual(shown(await read(store, programme, first.position)), shown(page).slice(1));
		deepEqual(shown(await read(store, programme, second.position)), shown(page).slice(2));
	});

	test("what was before the start is not told", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const { id } = await addConversion(store, programme.id);
		await addMove(store, id, "record", "RECORDED");
		deepEqual(shown(await read(store, programme, await startOfFeed(store.db))), []);
	});

	test("tests only, when only they are asked for", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const start = await startOfFeed(store.db);
		for (const test of [0, 1] as const) {
			const { id } = await addConversion(store, programme.id, { order_id: `test ${test}`, test });
			await addMove(store, id, "record", "RECORDED");
		}
		const options = { testOnly: true, nowMs: START_MS };
		const { events } = await readFeed(store, programme, start, options);
		deepEqual(
			events.map(({ body }) => JSON.parse(body).orderId),
			["test 1"],
		);
	});

	test("a move whose number is lower, but which is seen later, is told later and told once", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const start = await startOfFeed(store.db);
		const early = await addConversion(store, programme.id, { order_id: "early number" });
		const late = await addConversion(store, programme.id, { order_id: "late number" });
		await addMove(store, late.id, "record", "RECORDED", null, start.high + 3);
		const first = await read(store, programme, start);
		deepEqual(orders(first), ["late number"]);
		await addMove(store, early.id, "record", "RECORDED", null, start.high + 1);
		const second = await read(store, programme, first.position);
		deepEqual(orders(second), ["early number"]);
		deepEqual(orders(await read(store, programme, second.position)), []);
		const cursor = first.events[0]?.position ?? start;
		deepEqual(orders(await read(store, programme, cursor)), ["early number"], "also for one who comes back");
		await skipNumbers(store, start.high + 3);
	});

	test("a number that never comes is looked for once more and then no longer", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const start = await startOfFeed(store.db);
		const { id } = await addConversion(store, programme.id);
		await addMove(store, id, "record", "RECORDED", null, start.high + 2);
		const page = await read(store, programme, start);
		equal(page.events.length, 1);
		const isOpen = ({ gaps }: EventPosition) => gaps.some(({ first }) => first === start.high + 1);
		equal(isOpen(page.position), true);
		let { position } = page;
		await until(async () => {
			({ position } = await read(store, programme, position));
			return !isOpen(position);
		});
		await skipNumbers(store, start.high + 2);
	});

	test("what an ended gap still holds behind a full page is told, all of it", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const start = await startOfFeed(store.db);
		const { id } = await addConversion(store, programme.id);
		await addMove(store, id, "record", "RECORDED", null, start.high + 401);
		await addMove(store, id, "record", "RECORDED", null, start.high + 802);
		let { position } = await read(store, programme, start);
		const late = Array.from({ length: 801 }, (_, n) => start.high + 1 + n).filter(
			(n) => n !== start.high + 401,
		);
		const row = {
			conversion_id: id,
			move: "record",
			to_status: "RECORDED",
			reason: null,
			at_ms: START_MS,
		} as const;
		await insertMoves(
			store.db,
			late.map((number) => ({ ...row, id: number })),
		);
		let told = 0;
		for (let hasMore = true; hasMore; ) {
			const page = await read(store, programme, position);
			({ position, hasMore } = page);
			told += page.events.length;
		}
		equal(told, 800);
		await skipNumbers(store, start.high + 802);
	});

	test("a process whose clock is far behind makes nobody miss what another has under way", async (t) => {
		if (database.kind === "SQLite") return;
		const { store, rival } = database;
		const programme = await addProgramme(store);
		let position = await startOfFeed(store.db);
		const slow = await addConversion(store, programme.id, { order_id: "slow" });
		const commit = await holdMoves(t, [store], slow.id);
		const fast = await addConversion(rival, programme.id, { order_id: "fast" });
		await addMove(rival, fast.id, "record", "RECORDED", null, undefined, START_MS - 3_600_000);
		const told: string[] = [];
		for (let look = 0; look < 4; look++) {
			const page = await read(store, programme, position);
			position = page.position;
			told.push(...orders(page));
		}
		deepEqual(told, ["fast"]);
		await commit(store);
		deepEqual(orders(await read(store, programme, position)), ["slow"]);
	});

	test("a transaction that began last, took its number first and ends last is waited for", async (t) => {
		if (database.kind === "SQLite") return;
		const { store, rival } = database;
		const programme = await addProgramme(store);
		let position = await startOfFeed(store.db);
		const slow = await addConversion(store, programme.id, { order_id: "slow" });
		const commit = await rival.transact(async (trx) => {
			const fast = await addConversion({ ...rival, db: trx }, programme.id, { order_id: "fast" });
			const end = await holdMoves(t, [store], slow.id);
			await addMove({ db: trx }, fast.id, "record", "RECORDED");
			return end;
		});
		for (let look = 0; look < 4; look++) ({ position } = await read(store, programme, position));
		await commit(store);
		deepEqual(orders(await read(store, programme, position)), ["slow"]);
	});

	test("numbers that were rolled back hold nobody up, however many", async () => {
		if (database.kind === "SQLite") return;
		const { store } = database;
		const programme = await addProgramme(store);
		let position = await startOfFeed(store.db);
		const { id } = await addConversion(store, programme.id);
		const count = MAX_GAPS + 20;
		for (let n = 0; n < count; n++) {
			await addMove(store, id, "record", "RECORDED");
			await sql`select nextval(pg_get_serial_sequence('moves', 'id'))`.execute(store.db);
		}
		let told = 0;
		await until(async () => {
			const page = await read(store, programme, position);
			({ position } = page);
			told += page.events.length;
			return told >= count && position.gaps.length === 0;
		});
		equal(told, count);
	});

	test("two transactions that took their numbers in turn: the gaps stay bounded, and nothing is missed or told twice", async (t) => {
		if (database.kind === "SQLite") return;
		const { store, rival } = database;
		const programme = await addProgramme(store);
		let position = await startOfFeed(store.db);
		const { id } = await addConversion(store, programme.id);
		const rounds = MAX_GAPS + 50;
		const turns = Array.from({ length: rounds }, () => [store, rival] as const).flat();
		const commit = await holdMoves(t, turns, id);
		await addMove(store, id, "record", "RECORDED");
		let told = 0;
		const look = async () => {
			const page = await read(store, programme, position);
			({ position } = page);
			told += page.events.length;
			ok(position.gaps.length <= MAX_GAPS, `${position.gaps.length} gaps`);
		};
		await look();
		equal(told, 1);
		await commit(rival);
		await look();
		ok(told > 1 && told <= rounds + 1);
		await commit(store);
		await until(async () => {
			await look();
			return told >= 2 * rounds + 1;
		});
		await look();
		equal(told, 2 * rounds + 1);
	});

	test("transactions that end in another order than they began lose nothing and keep each conversion's order", async (t) => {
		// SQLite has one writer at a time: there they end in the order of their numbers.
		if (database.kind === "SQLite") return;
		const { store, rival } = database;
		const programme = await addProgramme(store);
		let position = await startOfFeed(store.db);
		const told: Shown[] = [];
		const listen = async () => {
			const page = await read(store, programme, position);
			position = page.position;
			told.push(...shown(page));
		};
		const opened = await addConversion(store, programme.id, { order_id: "slow" });
		const commit = await holdMoves(t, [store], opened.id);
		const fast = await addConversion(rival, programme.id, { order_id: "fast" });
		await rival.transact((trx) => addMove({ db: trx }, fast.id, "record", "RECORDED"));
		await listen();
		deepEqual(
			told.map(({ orderId }) => orderId),
			["fast"],
		);
		// Somebody who only begins to listen now is told of it too: it has not happened yet.
		const late = await startOfFeed(store.db);
		await commit(store);
		await addMove(rival, opened.id, "approve", "APPROVED");
		await listen();
		deepEqual(
			told.map(({ orderId, status }) => `${orderId} ${status}`),
			["fast RECORDED", "slow RECORDED", "slow APPROVED"],
		);
		deepEqual(
			shown(await read(store, programme, late)).map(({ status }) => status),
			["RECORDED", "APPROVED"],
		);
	});

	test("many writers at once: a listener beside them hears every move once, each conversion's in order", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		let position = await startOfFeed(store.db);
		const told: Shown[] = [];
		const conversions = await Promise.all(
			Array.from({ length: 60 }, (_, n) => addConversion(store, programme.id, { order_id: `order ${n}` })),
		);
		let isWriting = true;
		const listening = (async () => {
			for (let isLast = false; !isLast; ) {
				isLast = !isWriting;
				const page = await read(store, programme, position);
				position = page.position;
				told.push(...shown(page));
			}
		})();
		await Promise.all(
			conversions.map(async ({ id }, n) => {
				const mine = n % 2 === 0 ? store : rival;
				await mine.transact(async (trx) => {
					await addMove({ db: trx }, id, "record", "RECORDED");
					if (n % 3 === 0) await sql`select 1`.execute(trx);
				});
				await mine.transact(async (trx) => {
					await updateIfStill(trx, id, "RECORDED", { status: "APPROVED" });
					await addMove({ db: trx }, id, "approve", "APPROVED");
				});
			}),
		);
		isWriting = false;
		await listening;
		equal(told.length, 120);
		equal(new Set(told.map(({ orderId, event }) => `${orderId} ${event}`)).size, 120);
		for (let n = 0; n < 60; n++) {
			const mine = told.filter(({ orderId }) => orderId === `order ${n}`).map(({ status }) => status);
			deepEqual(mine, ["RECORDED", "APPROVED"]);
		}
	});

	test("a burst is told in bounded pages, and what the window approves is told like the rest", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		for (let n = 0; n < 3; n++) {
			await sql
				.raw(
					`insert into conversions (public_id, programme_id, order_id, event_type, status, basket_value, commission,
						network_fee, currency, test, source, occurred_at_ms, created_at_ms, window_ends_at_ms, updated_at_ms)
					with recursive n(i) as (select 1 union all select i + 1 from n where i < 400)
					select 'burst ${n} ' || i, ${programme.id}, 'burst ${n} ' || i, 'SALE', 'RECORDED', '1.00', '0.10', '0.10',
						'EUR', 0, 'postback', 0, 0, ${START_MS}, 0 from n`,
				)
				.execute(store.db);
		}
		let position = await startOfFeed(store.db);
		await approveDue({ store, clock: createClock(), random: createRandom() }, () => false);
		const pages: number[] = [];
		for (let hasMore = true; hasMore; ) {
			const page = await read(store, programme, position);
			ok(page.events.every(({ event }) => event === "conversion.approved"));
			position = page.position;
			hasMore = page.hasMore;
			pages.push(page.events.length);
		}
		equal(
			pages.reduce((sum, events) => sum + events, 0),
			1_200,
		);
		ok(pages.length > 2 && Math.max(...pages) <= 500, pages.join(", "));
	});

	test("a place that this database has not reached is known as such", async () => {
		const { store } = database;
		const start = await startOfFeed(store.db);
		equal(await hasReached(store.db, start), true);
		equal(await hasReached(store.db, { high: start.high + 1, gaps: [] }), false);
	});
});

eachDatabase("plans of the feed of events", (database) => {
	before(async () => {
		const { db } = database.store;
		const rows = 40_000;
		const insert = (text: string) =>
			sql
				.raw(
					text.replace(
						"ROWS",
						`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})`,
					),
				)
				.execute(db);
		await insert(`insert into conversions (id, public_id, programme_id, order_id, event_type, status, basket_value,
			commission, network_fee, currency, test, source, occurred_at_ms, created_at_ms, updated_at_ms)
			ROWS select i, 'cnv' || i, i % 50, 'order ' || i, 'SALE', 'RECORDED', '1', '1', '1', 'EUR', 0, 'postback', 0, 0, 0 from n`);
		await insert(
			`insert into moves (id, conversion_id, move, to_status, at_ms) ROWS select i, i, 'record', 'RECORDED', 0 from n`,
		);
		await analyseAsInService(database.store);
	});

	for (const [title, position] of [
		["from now on", { high: 39_990, gaps: [] }],
		["from long ago", { high: 5, gaps: [] }],
		[
			"with gaps",
			{
				high: 39_990,
				gaps: [newGap(100, 102), newGap(39_000, 39_400)],
			},
		],
	] as const) {
		test(`${title} it is read along the primary keys, and no table from end to end`, async () => {
			const programme = { id: 7, public_id: "prg" };
			const options = { testOnly: false, nowMs: START_MS };
			const { kind } = database.store;
			await checkWalks((db) => readFeed({ db, kind }, programme, position, options));
		});
	}

	test("its start is found without reading what was before", async () => {
		await checkWalks((db) => startOfFeed(db));
	});

	async function checkWalks(run: (db: Db) => Promise<unknown>): Promise<void> {
		const plans = await plansOf(database.kind, database.store.db, run);
		ok(plans.length > 0);
		// What SQLite calls a scan there is the reading of what a stretch gave.
		const walks = plans
			.flatMap((plan) => plan.walks)
			.filter((walk) => !/^(?:stretch_\d+|passed)$/.test(walk));
		const lines = plans.flatMap((plan) => plan.lines);
		deepEqual(walks, [], lines.join("\n"));
	}
});

function read(store: Store, programme: Programme, position: EventPosition): Promise<FeedPage> {
	return readFeed(store, programme, position, { testOnly: false, nowMs: START_MS });
}

function shown({ events }: FeedPage): Shown[] {
	return events.map(({ event, body }) => {
		const { orderId, status, reason, event: named } = JSON.parse(body);
		equal(named, event);
		return { event, orderId, status, reason };
	});
}

function orders(page: FeedPage): string[] {
	return shown(page).map(({ orderId }) => orderId);
}

type NewMove = Parameters<typeof insertMoves>[1][number];

async function addMove(
	{ db }: Pick<Store, "db">,
	conversionId: number,
	move: NewMove["move"],
	toStatus: NewMove["to_status"],
	reason: NonNullable<NewMove["reason"]> | null = null,
	id?: number,
	atMs = START_MS,
): Promise<void> {
	const row = { conversion_id: conversionId, move, to_status: toStatus, reason, at_ms: atMs };
	await insertMoves(db, [id === undefined ? row : { ...row, id }]);
}

interface Cleaning {
	after(clean: () => Promise<void>): void;
}

/** Moves in transactions that stay open, one a store, each number taken by the next in turn. */
async function holdMoves(
	t: Cleaning,
	turns: readonly Store[],
	conversionId: number,
): Promise<(store: Store) => Promise<void>> {
	const ends = new Map<Store, () => Promise<void>>();
	const transactions = new Map<Store, Db>();
	for (const store of new Set(turns)) {
		const held = Promise.withResolvers<void>();
		const begun = Promise.withResolvers<void>();
		const ended = store.transact(async (trx) => {
			transactions.set(store, trx);
			begun.resolve();
			await held.promise;
		});
		const end = async () => {
			held.resolve();
			await ended;
		};
		t.after(end);
		ends.set(store, end);
		await begun.promise;
	}
	for (const store of turns) {
		await addMove({ db: transactions.get(store) ?? store.db }, conversionId, "record", "RECORDED");
	}
	return async (store) => ends.get(store)?.();
}

/** PostgreSQL does not learn of numbers that were given by hand. */
async function skipNumbers({ db, kind }: Store, high: number): Promise<void> {
	if (kind === "postgres") {
		await sql`select setval(pg_get_serial_sequence('moves', 'id'), ${high})`.execute(db);
	}
}
