// Reports of one order in every order of arrival, on both databases: the shop's signed postback counts, whatever a pixel
// left before it and whenever a pixel comes after it; several at once do it once.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { approveDue } from "../../src/conversions/approve-due.ts";
import { decideByOrder } from "../../src/conversions/decide-by-order.ts";
import { readFeed, startOfFeed } from "../../src/conversions/event-feed.ts";
import { expireParked } from "../../src/conversions/expire-parked.ts";
import { listConversionsPage } from "../../src/conversions/list.ts";
import { recordConversion } from "../../src/conversions/record.ts";
import type { Report } from "../../src/conversions/report.ts";
import { listMoves } from "../../src/store/conversion-history.ts";
import { findByOrder } from "../../src/store/conversions.ts";
import { insertInboundCalls } from "../../src/store/inbound.ts";
import { listInboundCalls } from "../../src/store/inbound-list.ts";
import { type Programme, updateProgramme } from "../../src/store/programmes.ts";
import { pruneExpired } from "../../src/store/prune.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createRandom } from "../support/random.ts";
import { addConversion, addProgramme } from "../support/rows.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const APPROVAL_DAYS = 300;
const PARKED_DAYS = 30;

const STRANGERS_AMOUNT = "99999.00";
const SERVERS_AMOUNT = "500.00";
const LATER_AMOUNT = "7.00";
const ORDER = { orderId: "A-1", eventType: "SALE" } as const;
const PIXEL: Report = {
	...ORDER,
	source: "pixel",
	basketValue: STRANGERS_AMOUNT,
	occurredAtMs: null,
	isTest: false,
};
const POSTBACK: Report = { ...PIXEL, source: "postback", basketValue: SERVERS_AMOUNT };
const never = () => false;

type Step = "pixel" | "server" | "server again" | "wait" | "approve";

/** What the server is answered, step by step, and the events that the order owes in the end. */
interface Expected {
	answers: readonly string[];
	events: readonly string[];
}

interface Story {
	steps: readonly Step[];
	/** By whether the programme parks pixels. */
	parking: Expected;
	recording: Expected;
}

const told = ["conversion.recorded"];

const STORIES: readonly Story[] = [
	{
		steps: ["server", "pixel"],
		parking: { answers: ["RECORDED"], events: told },
		recording: { answers: ["RECORDED"], events: told },
	},
	{
		steps: ["pixel", "server"],
		parking: { answers: ["CONFIRMED"], events: [] },
		recording: { answers: ["CONFIRMED"], events: told },
	},
	{
		steps: ["pixel", "server", "server again"],
		parking: { answers: ["CONFIRMED", "DUPLICATE"], events: [] },
		recording: { answers: ["CONFIRMED", "DUPLICATE"], events: told },
	},
	{
		steps: ["pixel", "server", "pixel", "server again"],
		parking: { answers: ["CONFIRMED", "DUPLICATE"], events: [] },
		recording: { answers: ["CONFIRMED", "DUPLICATE"], events: told },
	},
	{
		steps: ["server", "pixel", "server again"],
		parking: { answers: ["RECORDED", "DUPLICATE"], events: told },
		recording: { answers: ["RECORDED", "DUPLICATE"], events: told },
	},
	{
		steps: ["pixel", "pixel", "server"],
		parking: { answers: ["CONFIRMED"], events: [] },
		recording: { answers: ["CONFIRMED"], events: told },
	},
	{
		steps: ["pixel", "wait", "server"],
		parking: { answers: ["RECORDED"], events: told },
		recording: { answers: ["CONFIRMED"], events: told },
	},
	{
		steps: ["pixel", "wait", "pixel", "server", "pixel", "server again"],
		parking: { answers: ["RECORDED", "DUPLICATE"], events: told },
		recording: { answers: ["CONFIRMED", "DUPLICATE"], events: told },
	},
	{
		steps: ["pixel", "server", "approve", "pixel", "server again"],
		parking: { answers: ["CONFIRMED", "DUPLICATE"], events: ["conversion.approved"] },
		recording: { answers: ["CONFIRMED", "DUPLICATE"], events: [...told, "conversion.approved"] },
	},
	{
		steps: ["pixel", "wait", "server", "approve"],
		parking: { answers: ["RECORDED"], events: [...told, "conversion.approved"] },
		recording: { answers: ["CONFIRMED"], events: [...told, "conversion.approved"] },
	},
];

eachDatabase("reports of one order", (database) => {
	const clock = createClock();
	const random = createRandom();
	const deps = () => ({ store: database.store, clock, random });

	async function openProgramme(parksPixels: boolean): Promise<Programme> {
		const programme = await addProgramme(database.store);
		const terms = {
			parks_pixels: parksPixels ? 1 : 0,
			parked_days: PARKED_DAYS,
			approval_days: APPROVAL_DAYS,
		} as const;
		await updateProgramme(database.store.db, programme.id, terms);
		return { ...programme, ...terms };
	}

	async function report(programme: Programme, said: Report, store: Store = database.store) {
		const result = await store.transact((trx) => recordConversion(trx, deps(), programme, said));
		ok(result.ok);
		return result.value;
	}

	const waitPastIt = async () => {
		await clock.moveBy(PARKED_DAYS * DAY_MS);
		await expireParked(deps(), never);
	};

	async function eventsOf(conversionId: number) {
		const events = database.store.db.selectFrom("events").selectAll();
		return events.where("conversion_id", "=", conversionId).orderBy("id").execute();
	}

	for (const { steps, ...expected } of STORIES) {
		for (const setting of ["parking", "recording"] as const) {
			for (const namesTime of [true, false]) {
				const title = `${steps.join(", ")}: ${setting}, ${namesTime ? "with" : "without"} the time of the sale`;
				test(title, () => live(steps, setting, namesTime, expected[setting]));
			}
		}
	}

	async function live(
		steps: readonly Step[],
		setting: "parking" | "recording",
		namesTime: boolean,
		expected: Expected,
	): Promise<void> {
		const programme = await openProgramme(setting === "parking");
		const answers: string[] = [];
		let reportedAtMs = 0;
		for (const step of steps) {
			await clock.moveBy(MINUTE_MS);
			const nowMs = clock.nowMs();
			if (step === "pixel") await report(programme, PIXEL);
			if (step === "wait") await waitPastIt();
			if (step === "approve") {
				const decision = { move: "approve", decidedBy: "shop" } as const;
				await database.store.transact((trx) => decideByOrder(trx, deps(), programme, ORDER, decision));
			}
			if (step === "server") {
				reportedAtMs = nowMs;
				const said = { ...POSTBACK, occurredAtMs: namesTime ? nowMs - DAY_MS : null };
				answers.push((await report(programme, said)).outcome);
			}
			if (step === "server again") {
				const said = { ...POSTBACK, basketValue: LATER_AMOUNT, occurredAtMs: nowMs - 9 * DAY_MS };
				answers.push((await report(programme, said)).outcome);
			}
		}
		deepEqual(answers, expected.answers);
		const stored = await findByOrder(database.store.db, programme.id, ORDER.orderId, ORDER.eventType);
		ok(stored !== undefined);
		const isDecided = steps.includes("approve");
		deepEqual(
			[stored.basket_value, stored.commission, stored.occurred_at_ms, stored.window_ends_at_ms],
			[
				SERVERS_AMOUNT,
				"37.50",
				namesTime ? reportedAtMs - DAY_MS : reportedAtMs,
				isDecided ? null : reportedAtMs + APPROVAL_DAYS * DAY_MS,
			],
			"amounts, time and window are the server's",
		);
		equal(
			stored.pixel_basket_value,
			steps[0] === "pixel" ? STRANGERS_AMOUNT : null,
			"the claim stays visible",
		);
		const events = await eventsOf(stored.id);
		deepEqual(
			events.map(({ name }) => name),
			expected.events,
		);
		const decided = events.find(({ name }) => name === "conversion.approved");
		if (decided !== undefined) equal(JSON.parse(decided.body).basketValue, SERVERS_AMOUNT);
	}

	test("the window of a confirmed order counts from the confirmation, parked or not", async () => {
		for (const parksPixels of [true, false]) {
			const programme = await openProgramme(parksPixels);
			await report(programme, PIXEL);
			await clock.moveBy(20 * DAY_MS);
			const { conversion } = await report(programme, POSTBACK);
			const status = async () => (await findByOrder(database.store.db, programme.id, "A-1", "SALE"))?.status;
			await clock.moveTo(conversion.updated_at_ms + APPROVAL_DAYS * DAY_MS - 1);
			await approveDue(deps(), never);
			equal(await status(), "RECORDED");
			await clock.moveBy(1);
			await approveDue(deps(), never);
			equal(await status(), "APPROVED");
		}
	});

	for (const [state, parksPixels, first] of [
		["new", true, "RECORDED"],
		["PARKED", true, "CONFIRMED"],
		["EXPIRED", true, "RECORDED"],
		["RECORDED", false, "CONFIRMED"],
	] as const) {
		test(`of many postbacks at once for an order that is ${state} one counts, and its event is owed once`, async () => {
			const programme = await openProgramme(parksPixels);
			if (state !== "new") await report(programme, PIXEL);
			if (state === "EXPIRED") await waitPastIt();
			const { store, rival } = database;
			const done = await Promise.all(
				Array.from({ length: 8 }, (_, n) =>
					report(programme, { ...POSTBACK, basketValue: `${n + 1}.00` }, n % 2 === 0 ? store : rival),
				),
			);
			const outcomes = done.map(({ outcome }) => outcome).sort();
			deepEqual(outcomes, [first, ...Array.from({ length: 7 }, () => "DUPLICATE")].sort());
			const winner = done.find(({ outcome }) => outcome === first);
			for (const { conversion } of done) equal(conversion.basket_value, winner?.conversion.basket_value);
			const events = await eventsOf(winner?.conversion.id ?? 0);
			equal(events.length, state === "PARKED" ? 0 : 1);
			const moves = await listMoves(database.store.db, winner?.conversion.id ?? 0);
			equal(moves.filter(({ move }) => move === (first === "CONFIRMED" ? "confirm" : "record")).length, 1);
		});
	}

	test("an expired order is recorded with its history, its public id and its calls, where today's sales are", async () => {
		const { db } = database.store;
		const programme = await openProgramme(true);
		const parked = await report(programme, PIXEL);
		const call = { kind: "pixel", method: "GET", target: "/", outcome: "PARKED", http_status: 200 } as const;
		const named = { ...call, programme_id: programme.id, order_id: ORDER.orderId, at_ms: clock.nowMs() };
		await insertInboundCalls(db, [{ ...named, conversion_id: parked.conversion.id }]);
		const between = await report(programme, { ...POSTBACK, orderId: "A-2" });
		await waitPastIt();
		const expired = await findByOrder(db, programme.id, "A-1", "SALE");
		deepEqual([expired?.status, expired?.window_ends_at_ms], ["EXPIRED", clock.nowMs()]);
		const { outcome, conversion } = await report(programme, POSTBACK);
		equal(outcome, "RECORDED");
		deepEqual(
			[conversion.public_id, conversion.source, conversion.created_at_ms, conversion.confirmed_at_ms],
			[parked.conversion.public_id, "postback", clock.nowMs(), null],
		);
		const moves = await listMoves(db, conversion.id);
		deepEqual(
			moves.map(({ move }) => move),
			["park", "expire", "record"],
		);
		const [logged] = (await listInboundCalls(db, { programmeId: programme.id, limit: 5 })).rows;
		equal(logged?.conversionId, conversion.public_id);
		const listed = async (query: object) =>
			(await listConversionsPage(db, programme, query, 10)).rows.map(({ order_id }) => order_id);
		deepEqual(await listed({}), ["A-1", "A-2"], "the newest first");
		deepEqual(await listed({ fromMs: clock.nowMs() }), ["A-1"]);
		deepEqual(await listed({ beforeMs: clock.nowMs() }), ["A-2"]);
		ok(between.conversion.id < conversion.id);
	});

	test("a stranger's thousand calls for an order do not make its postback write a thousand rows", async () => {
		const { db } = database.store;
		const programme = await openProgramme(true);
		const { conversion: parked } = await report(programme, PIXEL);
		const call = {
			kind: "pixel",
			method: "GET",
			target: "/",
			outcome: "DUPLICATE",
			http_status: 200,
		} as const;
		const ids = { programme_id: programme.id, order_id: ORDER.orderId, conversion_id: parked.id };
		// Not the newest row, or SQLite would give its number again and nothing would have to be linked anew.
		await addConversion(database.store, programme.id);
		await waitPastIt();
		await insertInboundCalls(
			db,
			Array.from({ length: 1_000 }, () => ({ ...call, ...ids, at_ms: clock.nowMs() })),
		);
		const { conversion } = await report(programme, POSTBACK);
		const linked = db.selectFrom("inbound_calls").select("id").where("conversion_id", "=", conversion.id);
		equal((await linked.execute()).length, 100);
	});

	test("a postback for an expired order that retention removes at the same moment is recorded, once", async () => {
		const { store, rival } = database;
		const programme = await openProgramme(true);
		for (let round = 0; round < 10; round++) {
			const orderId = `raced-${round}`;
			await report(programme, { ...PIXEL, orderId });
			await report(programme, { ...POSTBACK, orderId: `newer-${round}` });
			await waitPastIt();
			const [done] = await Promise.all([
				report(programme, { ...POSTBACK, orderId }, rival),
				pruneExpired(store, clock, clock.nowMs() + 1, never),
			]);
			equal(done.outcome, "RECORDED");
			const stored = await findByOrder(store.db, programme.id, orderId, "SALE");
			deepEqual([stored?.status, stored?.basket_value], ["RECORDED", SERVERS_AMOUNT]);
			equal((await eventsOf(stored?.id ?? 0)).length, 1);
		}
	});

	test("whoever reads the events later sees the pixel's amount in what was announced before the confirmation", async () => {
		const { store } = database;
		const programme = await openProgramme(false);
		const start = await startOfFeed(store.db);
		await report(programme, PIXEL);
		const pixelAtMs = clock.nowMs();
		await clock.moveBy(DAY_MS);
		const { conversion } = await report(programme, { ...POSTBACK, isTest: true });
		const decision = { move: "approve", decidedBy: "shop" } as const;
		await store.transact((trx) => decideByOrder(trx, deps(), programme, ORDER, decision));
		const nowMs = clock.nowMs();
		const { events } = await readFeed(store, programme, start, { testOnly: false, nowMs });
		const bodies = events.map(({ body }) => JSON.parse(body));
		deepEqual(
			bodies.map(({ event, basketValue, occurredAt, test: isTest }) => [
				event,
				basketValue,
				occurredAt,
				isTest,
			]),
			[
				["conversion.recorded", STRANGERS_AMOUNT, new Date(pixelAtMs).toISOString(), false],
				["conversion.approved", SERVERS_AMOUNT, new Date(nowMs).toISOString(), true],
			],
		);
		const owed = (await eventsOf(conversion.id)).map(({ body }) => JSON.parse(body));
		const sentAt = new Date(nowMs).toISOString();
		deepEqual(
			bodies,
			owed.map((body) => ({ ...body, sentAt })),
			"as the callbacks have it",
		);
		const tests = await readFeed(store, programme, start, { testOnly: true, nowMs });
		deepEqual(
			tests.events.map(({ event }) => event),
			["conversion.approved"],
		);
	});
});
