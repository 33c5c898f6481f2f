// Tests reports of one order, in every order of arrival, on both databases. The shop's signed sale report
// wins over any pixel call before or after it. Several simultaneous reports count once.

import { deepEqual, equal, ok, partialDeepStrictEqual } from "node:assert/strict";
import { test } from "node:test";
import { changeOrders } from "#core/conversions/change-orders.ts";
import { type Decision, decisionRequest } from "#core/conversions/decide.ts";
import { approveDue, expireParked } from "#core/conversions/end-windows.ts";
import { recordConversion } from "#core/conversions/record.ts";
import type { Report } from "#core/conversions/report.ts";
import { bodySentAt } from "#core/domain/event.ts";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { repeatConflicts } from "#core/store/conflict.ts";
import { startOfFeed } from "#core/store/queries/announced-moves.ts";
import { listConversions } from "#core/store/queries/conversion-list.ts";
import { listMoves } from "#core/store/queries/conversions.ts";
import { listInboundCalls } from "#core/store/queries/inbound-calls.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { pruneExpired } from "#core/store/queries/prune.ts";
import type { Store } from "#core/store/store.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { setProgramme } from "../support/change-rows.ts";
import { createClock } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { type Act, carryOut, endWindow, type Terms, UNKNOWN } from "../support/lifecycle-model.ts";
import { startListening } from "../support/listener.ts";
import { addProgramme, findConversion } from "../support/rows.ts";

const APPROVAL_DAYS = 300;
const PARKED_DAYS = 30;
/** Terms of the programme that `addProgramme` creates, except for its windows. */
const TERMS: Omit<Terms, "parksPixels"> = {
	currency: "EUR",
	currencyDigits: 2,
	ratesAt: () => ({ commissionRate: "7.5000", feeRate: "2.0000" }),
	approvalDays: APPROVAL_DAYS,
	parkedDays: PARKED_DAYS,
};

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

type Step = "pixel" | "server" | "server again" | "wait" | "approve" | "reject" | "reverse";

const STORIES: readonly (readonly Step[])[] = [
	["server", "pixel"],
	["pixel", "server"],
	["pixel", "server", "server again"],
	["pixel", "server", "pixel", "server again"],
	["server", "pixel", "server again"],
	["pixel", "pixel", "server"],
	["pixel", "wait", "server"],
	["pixel", "wait", "pixel", "server", "pixel", "server again"],
	["pixel", "server", "approve", "pixel", "server again"],
	["pixel", "wait", "server", "approve"],
	["pixel", "reject", "server", "server again"],
	["pixel", "reject", "pixel", "server", "reject", "server again"],
	["pixel", "reverse", "server", "approve", "reverse", "server again"],
	["pixel", "approve", "reverse", "server", "pixel"],
];

/** Returns the model's action for a step, or null if the step only waits. */
function actOf(step: Step, nowMs: number, namesTime: boolean): Act | null {
	if (step === "wait") return null;
	if (step === "approve") return { kind: "approve" };
	if (step === "reject" || step === "reverse") return { kind: step, reason: "FRAUD" };
	if (step === "pixel") return { kind: "report", ...PIXEL };
	const isFirst = step === "server";
	const soldAtMs = isFirst && !namesTime ? null : nowMs - (isFirst ? 1 : 9) * DAY_MS;
	const basketValue = isFirst ? SERVERS_AMOUNT : LATER_AMOUNT;
	return { kind: "report", ...POSTBACK, basketValue, occurredAtMs: soldAtMs };
}

eachDatabase("reports of one order", (database) => {
	const clock = createClock();
	const random = createRandom();
	const deps = () => ({ store: database.store, clock, random, changes: CHANGES });

	async function openProgramme(parksPixels: boolean): Promise<Programme> {
		const programme = await addProgramme(database.store);
		const terms = {
			parks_pixels: parksPixels ? 1 : 0,
			parked_days: PARKED_DAYS,
			approval_days: APPROVAL_DAYS,
		} as const;
		await setProgramme(database.store.db, programme.id, terms);
		return { ...programme, ...terms };
	}

	async function report(programme: Programme, said: Report, store: Store = database.store) {
		const result = await repeatConflicts(clock, () =>
			store.transact((trx) => recordConversion(trx, deps(), programme, said)),
		);
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

	for (const steps of STORIES) {
		for (const parksPixels of [true, false]) {
			for (const namesTime of [true, false]) {
				const setting = `${parksPixels ? "parking" : "recording"}, ${namesTime ? "with" : "without"} the time of the sale`;
				test(`the reports and decisions "${steps.join(", ")}" match the model, ${setting}`, () =>
					live(steps, parksPixels, namesTime));
			}
		}
	}

	/**
	 * Carries out the steps and checks each answer, the stored conversion and the owed events against the
	 * model.
	 */
	async function live(steps: readonly Step[], parksPixels: boolean, namesTime: boolean): Promise<void> {
		const programme = await openProgramme(parksPixels);
		const terms = { ...TERMS, parksPixels };
		let expected = UNKNOWN;
		for (const step of steps) {
			await clock.moveBy(MINUTE_MS);
			const act = actOf(step, clock.nowMs(), namesTime);
			if (act === null) {
				await waitPastIt();
				expected = endWindow(expected, clock.nowMs(), terms, true);
			} else {
				const { answer, next } = carryOut(expected, act, clock.nowMs(), terms, true);
				equal(await perform(programme, act), answer, step);
				expected = next;
			}
		}
		const stored = await findConversion(database.store.db, programme.id, ORDER.orderId);
		ok(stored !== undefined);
		deepEqual(
			[stored.status, stored.basket_value, stored.commission, stored.pixel_basket_value],
			[expected.status, SERVERS_AMOUNT, "37.50", expected.pixelBasketValue],
			"the amounts are the server's, and the pixel's claim stays visible",
		);
		deepEqual(
			[stored.occurred_at_ms, stored.window_ends_at_ms],
			[expected.occurredAtMs, expected.windowEndsAtMs],
		);
		const events = await eventsOf(stored.id);
		deepEqual(
			events.map(({ name }) => name),
			[...expected.events.keys()],
		);
		for (const { name, body } of events)
			partialDeepStrictEqual(JSON.parse(bodySentAt(name, body, 0)), expected.events.get(name), name);
		const named = programme.id;
		const rows = await database.store.db.selectFrom("conversions").selectAll().execute();
		const [before, ...others] = rows.filter((row) => row.programme_id === named && row.id !== stored.id);
		deepEqual([before?.status, others], [expected.replaced?.status, []]);
		if (before === undefined) return;
		deepEqual(
			[before.order_id, before.reason],
			[`${ORDER.orderId} (${before.public_id})`, expected.replaced?.reason],
		);
		deepEqual(
			(await eventsOf(before.id)).map(({ name }) => name),
			[...(expected.replaced?.events.keys() ?? [])],
			"its announced events stay",
		);
	}

	async function perform(programme: Programme, act: Act): Promise<string> {
		if (act.kind === "report") return (await report(programme, { ...ORDER, ...act })).outcome;
		const by = { decidedBy: "shop" } as const;
		const decision: Decision =
			act.kind === "approve" ? { move: act.kind, ...by } : { move: act.kind, ...by, reason: "FRAUD" };
		const decided = await decide(programme, decision);
		return decided?.ok === true ? decided.value.outcome : (decided?.fault.code ?? "");
	}

	async function decide(programme: Programme, decision: Decision) {
		const { results } = await database.store.transact((trx) =>
			changeOrders(trx, deps(), [decisionRequest(programme, ORDER, decision)]),
		);
		return results[0];
	}

	test("the approval window of a confirmed order starts at the confirmation, parked or not", async () => {
		for (const parksPixels of [true, false]) {
			const programme = await openProgramme(parksPixels);
			await report(programme, PIXEL);
			await clock.moveBy(20 * DAY_MS);
			const { conversion } = await report(programme, POSTBACK);
			const status = async () => (await findConversion(database.store.db, programme.id, "A-1"))?.status;
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
		["REJECTED", false, "RECORDED"],
	] as const) {
		test(`if many sale reports come at once for an order that is ${state}, one counts and one event is owed`, async () => {
			const programme = await openProgramme(parksPixels);
			if (state !== "new") await report(programme, PIXEL);
			if (state === "EXPIRED") await waitPastIt();
			if (state === "REJECTED")
				await decide(programme, { move: "reject", decidedBy: "shop", reason: "FRAUD" });
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

	test("a sale report for an expired order creates a new conversion with today's date, and the expired one stays", async () => {
		const { db } = database.store;
		const programme = await openProgramme(true);
		const parked = await report(programme, PIXEL);
		const call = { kind: "pixel", method: "GET", target: "/", outcome: "PARKED", http_status: 200 } as const;
		const named = { ...call, programme_id: programme.id, order_id: ORDER.orderId, at_ms: clock.nowMs() };
		await database.store.batch.write(db, {
			inboundCalls: [{ ...named, conversion: parked.conversion.public_id }],
		});
		const between = await report(programme, { ...POSTBACK, orderId: "A-2" });
		await waitPastIt();
		const expired = await findConversion(db, programme.id, "A-1");
		deepEqual([expired?.status, expired?.window_ends_at_ms], ["EXPIRED", clock.nowMs()]);
		const { outcome, conversion } = await report(programme, POSTBACK);
		equal(outcome, "RECORDED");
		deepEqual(
			[conversion.public_id, conversion.source, conversion.created_at_ms, conversion.confirmed_at_ms],
			[conversion.public_id, "postback", clock.nowMs(), null],
		);
		const movesOf = async (id: number) => (await listMoves(db, id)).map(({ move }) => move);
		deepEqual(await movesOf(conversion.id), ["record"]);
		deepEqual(await movesOf(parked.conversion.id), ["park", "expire"]);
		const [logged] = (await listInboundCalls(db, { programmeId: programme.id, limit: 5 })).rows;
		equal(logged?.conversionId, parked.conversion.public_id);
		const name = `A-1 (${parked.conversion.public_id})`;
		const listed = async (query: object) =>
			(await listConversions(db, { programmeId: programme.id, limit: 10, ...query })).rows.map(
				({ order_id }) => order_id,
			);
		deepEqual(await listed({}), ["A-1", "A-2", name], "the newest comes first");
		deepEqual(await listed({ fromMs: clock.nowMs() }), ["A-1"]);
		deepEqual(await listed({ beforeMs: clock.nowMs() }), ["A-2", name]);
		ok(between.conversion.id < conversion.id);
	});

	test("a sale report for an expired order that retention removes at the same moment is recorded once", async () => {
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
			const stored = await findConversion(store.db, programme.id, orderId);
			deepEqual([stored?.status, stored?.basket_value], ["RECORDED", SERVERS_AMOUNT]);
			equal((await eventsOf(stored?.id ?? 0)).length, 1);
		}
	});

	test("the window does not approve a conversion that only a pixel has reported", async () => {
		const { store } = database;
		const programme = await openProgramme(false);
		const { conversion } = await report(programme, PIXEL);
		equal(conversion.window_ends_at_ms, null);
		const row = () => findConversion(store.db, programme.id, ORDER.orderId);
		await waitPastIt();
		await approveDue(deps(), never);
		equal((await row())?.status, "RECORDED");
		equal(
			(await decide(programme, { move: "approve", decidedBy: "shop" }))?.ok,
			true,
			"a person may approve it",
		);
	});

	test("events and searches find a pixel's rejected order and the server's sale of it, each under its own ID", async () => {
		const { store } = database;
		const programme = await openProgramme(false);
		const start = await startOfFeed(store);
		const { conversion: pixels } = await report(programme, PIXEL);
		await decide(programme, { move: "reject", decidedBy: "shop", reason: "FRAUD" });
		const { conversion: servers } = await report(programme, POSTBACK);
		const listener = await startListening(store, programme, { from: start, nowMs: clock.nowMs() });
		await listener.catchUp();
		deepEqual(
			listener.events.map(({ body }) => JSON.parse(body)).map((said) => [said.conversionId, said.orderId]),
			[pixels, pixels, servers].map(({ public_id }) => [public_id, ORDER.orderId]),
		);
		const found = await listConversions(store.db, {
			programmeId: programme.id,
			limit: 9,
			search: { kind: "orders", term: "a-1" },
		});
		deepEqual(
			found.rows.map(({ public_id }) => public_id),
			[servers.public_id, pixels.public_id],
		);
	});

	test("a later reader of the events sees the pixel's amount in events before the confirmation", async () => {
		const { store } = database;
		const programme = await openProgramme(false);
		const start = await startOfFeed(store);
		await report(programme, PIXEL);
		const pixelAtMs = clock.nowMs();
		await clock.moveBy(DAY_MS);
		const { conversion } = await report(programme, POSTBACK);
		const decision = { move: "approve", decidedBy: "shop" } as const;
		await decide(programme, decision);
		const nowMs = clock.nowMs();
		const listener = await startListening(store, programme, { from: start, nowMs });
		await listener.catchUp();
		const bodies = listener.events.map(({ body }) => JSON.parse(body));
		deepEqual(
			bodies.map(({ event, basketValue, occurredAt, test: isTest }) => [
				event,
				basketValue,
				occurredAt,
				isTest,
			]),
			[
				["conversion.recorded", STRANGERS_AMOUNT, new Date(pixelAtMs).toISOString(), false],
				["conversion.approved", SERVERS_AMOUNT, new Date(nowMs).toISOString(), false],
			],
		);
		const owed = (await eventsOf(conversion.id)).map(({ name, body }) =>
			JSON.parse(bodySentAt(name, body, nowMs)),
		);
		deepEqual(bodies, owed, "the events equal the bodies of the callbacks");
		const tests = await startListening(store, programme, { from: start, testOnly: true, nowMs });
		await tests.catchUp();
		deepEqual(tests.events, []);
	});
});
