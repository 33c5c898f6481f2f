// Runs random sequences of reports, decisions and waits with the real use cases and with a model of the
// rules. Both must give the same outcomes, statuses and events.

import { deepEqual, equal, fail, ok } from "node:assert/strict";
import fc from "fast-check";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { changeOrders } from "#core/conversions/change-orders.ts";
import { type Decision, decisionRequest } from "#core/conversions/decide.ts";
import type { Decided } from "#core/conversions/deps.ts";
import { approveDue, expireParked } from "#core/conversions/end-windows.ts";
import type { OrderRequest } from "#core/conversions/order-request.ts";
import { reportRequest } from "#core/conversions/record.ts";
import { type EventType, REASONS } from "#core/domain/conversion.ts";
import { bodySentAt } from "#core/domain/event.ts";
import type { EventName } from "#core/domain/event-name.ts";
import { HOUR_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { changeProgramme } from "#core/programmes/programme-terms.ts";
import { orderIdOf } from "#core/store/queries/conversions.ts";
import { findProgrammesById, type Programme } from "#core/store/queries/programmes.ts";
import { removeUrl, setUrl } from "../support/change-rows.ts";
import {
	type Act,
	carryOut,
	endWindow,
	type LifeState,
	type OwedBody,
	type Terms,
	type TimedRates,
	UNKNOWN,
} from "../support/lifecycle-model.ts";
import type { FuzzProperty } from "./fuzz-property.ts";
import { type FuzzService, openFuzzService } from "./fuzz-service.ts";

type ProgrammeName = "parking" | "recording";

/** State that the model expects. */
interface Expected {
	/** Conversions by programme, order and event type. */
	conversions: Map<string, LifeState>;
	/** Programmes that currently have a Postback URL. */
	withUrl: Set<ProgrammeName>;
	/** Rates of the programmes in the order of time. */
	rates: Readonly<Record<ProgrammeName, (TimedRates & { fromMs: number })[]>>;
}

interface Real {
	service: FuzzService;
	programmes: Record<ProgrammeName, Programme>;
	meet(kind: string): void;
}

type Step = fc.AsyncCommand<Expected, Real>;

/** Terms of the programmes that `makeShop` opens. */
const TERMS: Omit<Terms, "parksPixels" | "ratesAt"> = {
	currency: "EUR",
	currencyDigits: 2,
	approvalDays: 30,
	parkedDays: 30,
};

/**
 * Orders of a sequence. There are few, so that steps meet the same order. An order is its id and its event
 * type.
 */
const ORDERS = ["A SALE", "A LEAD"] as const;
const ANY_ORDER = fc.constantFrom(...ORDERS);
const ANY_PROGRAMME = fc.constantFrom("parking" as const, "recording" as const);

/** A call, and the action of the model that corresponds to it. */
interface Ask {
	programme: ProgrammeName;
	order: (typeof ORDERS)[number];
	act: Act;
	requestFor(deps: FuzzService["deps"], programme: Programme): OrderRequest<Decided<string>>;
}

const REPORT = fc
	.record({
		programme: ANY_PROGRAMME,
		source: fc.constantFrom("pixel", "postback"),
		order: ANY_ORDER,
		basketValue: fc.integer({ min: 0, max: 99_999 }).map((cents) => (cents / 100).toFixed(2)),
		occurredAtMs: fc.option(fc.integer({ min: 0, max: Date.UTC(2026, 0, 1) })),
		isTest: fc.boolean(),
	})
	// A browser cannot report a test, and its clock is not used.
	.map((report) => (report.source === "pixel" ? { ...report, isTest: false, occurredAtMs: null } : report))
	.map(({ programme, order, ...report }): Ask => {
		const sale = { ...report, ...splitOrder(order) };
		return {
			programme,
			order,
			act: { kind: "report", ...report },
			requestFor: (deps, row) => reportRequest(deps, row, sale),
		};
	});

const DECISION = fc
	.record({
		programme: ANY_PROGRAMME,
		order: ANY_ORDER,
		move: fc.constantFrom("approve", "reject", "reverse"),
		reason: fc.constantFrom(...REASONS),
	})
	.map(({ programme, order, move, reason }): Ask => {
		const decision: Decision =
			move === "approve" ? { move, decidedBy: "shop" } : { move, decidedBy: "shop", reason };
		return {
			programme,
			order,
			act: move === "approve" ? { kind: move } : { kind: move, reason },
			requestFor: (_, row) => decisionRequest(row, splitOrder(order), decision),
		};
	});

/**
 * Generates calls that share a transaction, often about the same order. They must be answered as if one came
 * after the other.
 */
const BATCH = fc.array(fc.oneof(REPORT, DECISION), { minLength: 1, maxLength: 8 }).map((asks) =>
	makeStep(asks.map(describeAsk).join(", "), async (model, { service, programmes, meet }) => {
		const { deps } = service;
		const requests = asks.map((ask) => ask.requestFor(deps, programmes[ask.programme]));
		const { results } = await deps.store.transact((trx) => changeOrders(trx, deps, requests));
		equal(results.length, asks.length);
		for (const [index, result] of results.entries()) {
			const { programme, order, act } = asks[index] ?? fail("a result without its request");
			const word = result.ok ? result.value.outcome : result.fault.code;
			const before = compareWithModel(model, programme, order, act, word, service.nowMs());
			if (word === "move_not_allowed" && !result.ok)
				ok(result.fault.detail.includes(before), "a refusal names the status it met");
			meet(word);
			if (before === "EXPIRED" && word === "RECORDED") meet("late RECORDED");
			if (before === "RECORDED" && word === "CONFIRMED") meet("CONFIRMED without parking");
			if (before === "REJECTED" && word === "RECORDED") meet("RECORDED after a pixel's was rejected");
			if (before === "REVERSED" && word === "RECORDED") meet("RECORDED after a pixel's was reversed");
		}
	}),
);

function describeAsk({ programme, order, act }: Ask): string {
	return `${programme} ${order} ${JSON.stringify(act)}`;
}

/** Compares the service's answer with the model's answer, and returns the previous status. */
function compareWithModel(
	{ conversions, withUrl, rates }: Expected,
	programme: ProgrammeName,
	order: string,
	act: Act,
	word: string,
	nowMs: number,
): LifeState["status"] {
	const key = `${programme} ${order}`;
	const before = conversions.get(key) ?? UNKNOWN;
	const { answer, next } = carryOut(before, act, nowMs, termsOf(programme, rates), withUrl.has(programme));
	equal(word, answer);
	if (next.status !== "NONE") conversions.set(key, next);
	return before.status;
}

/** Generates waiting times. Most are longer than the window, because few sequences have an open window. */
const WAIT = fc.constantFrom(1, 20 * 24, 31 * 24, 31 * 24).map((hours) =>
	makeStep(`wait ${hours} h`, async ({ conversions, withUrl, rates }, { service }) => {
		service.moveClock(hours * HOUR_MS);
		await approveDue(service.deps, () => false);
		await expireParked(service.deps, () => false);
		const nowMs = service.nowMs();
		for (const [key, state] of conversions) {
			const programme = key.startsWith("parking") ? "parking" : "recording";
			const next = endWindow(state, nowMs, termsOf(programme, rates), withUrl.has(programme));
			// Retention of an expired conversion counts from its expiry.
			const hasExpired = next !== state && next.status === "EXPIRED";
			conversions.set(key, hasExpired ? { ...next, windowEndsAtMs: nowMs } : next);
		}
	}),
);

const URL_CHANGE = fc.tuple(ANY_PROGRAMME, fc.boolean()).map(([programme, isSet]) =>
	makeStep(`${isSet ? "save" : "remove"} the URL of ${programme}`, async (model, { service, programmes }) => {
		const { store } = service.deps;
		const { id } = programmes[programme];
		if (isSet) await setUrl(store.db, id, "https://shop.example/other", service.nowMs());
		else await store.transact((trx) => removeUrl(trx, id, service.nowMs()));
		if (isSet) model.withUrl.add(programme);
		else model.withUrl.delete(programme);
	}),
);

const RATE = fc.constantFrom("0", "5", "7.5", "12.3456");
const RATE_CHANGE = fc.tuple(ANY_PROGRAMME, RATE, RATE).map(([programme, commissionRate, feeRate]) =>
	makeStep(`${programme} gets the rates ${commissionRate} % and ${feeRate} %`, async (model, real) => {
		const { deps } = real.service;
		const { id } = real.programmes[programme];
		ok((await changeProgramme(deps, COMMAND_LINE, id, { commissionRate, feeRate })).ok);
		const changed = (await findProgrammesById(deps.store.db, [id])).get(id);
		ok(changed !== undefined);
		real.programmes[programme] = changed;
		model.rates[programme].push({ fromMs: real.service.nowMs(), commissionRate, feeRate });
	}),
);

const WALKS: FuzzProperty = {
	name: "any walk through the lifecycle gives the outcomes, statuses and events of the model",
	kinds: [
		...["RECORDED", "PARKED", "CONFIRMED", "DUPLICATE", "APPROVED", "REJECTED", "REVERSED"],
		...["unknown_order", "move_not_allowed", "late RECORDED", "CONFIRMED without parking"],
		...["RECORDED after a pixel's was rejected", "RECORDED after a pixel's was reversed"],
	],
	share: 0.2,
	async open({ seed, meet }) {
		const service = await openFuzzService(seed);
		const walks = fc.commands<Expected, Real, false>([BATCH, BATCH, WAIT, URL_CHANGE, RATE_CHANGE], {
			size: "max",
			maxCommands: 40,
		});
		const property = fc.asyncProperty(walks, async (steps) => {
			const parking = (await makeShop(service.deps, { parksPixels: true })).programme;
			const recording = (await makeShop(service.deps, { parksPixels: false })).programme;
			const programmes = { parking, recording };
			const first = { fromMs: 0, commissionRate: "8", feeRate: "2.5" };
			const model: Expected = {
				conversions: new Map(),
				withUrl: new Set(["parking", "recording"]),
				rates: { parking: [first], recording: [first] },
			};
			await fc.asyncModelRun(() => ({ model, real: { service, programmes, meet } }), steps);
			deepEqual(
				await readConversions(service, programmes),
				withEventsInOrder(model.conversions),
				"what is stored",
			);
			// Pending deliveries of this sequence are removed, because they would disturb the next one.
			await service.deps.store.db.updateTable("conversions").set({ window_ends_at_ms: null }).execute();
		});
		return { property, close: service.close };
	},
};

function makeStep(name: string, run: Step["run"]): Step {
	return {
		check: () => true,
		async run(model, real) {
			real.service.moveClock(1);
			await run(model, real);
		},
		toString: () => name,
	};
}

/** A state whose events are a list, because two equal maps may have different orders. */
type InOrder = Omit<LifeState, "events" | "replaced"> & {
	events: [name: string, body: OwedBody][];
	replaced: InOrder | null;
};

function withEventsInOrder(conversions: ReadonlyMap<string, LifeState>): Map<string, InOrder> {
	return new Map([...conversions].map(([key, state]) => [key, inOrder(state)]));
}

function inOrder(state: LifeState): InOrder {
	const { events, replaced } = state;
	return { ...state, events: [...events], replaced: replaced === null ? null : inOrder(replaced) };
}

async function readConversions(
	{ deps }: FuzzService,
	programmes: Real["programmes"],
): Promise<Map<string, InOrder>> {
	const { db } = deps.store;
	const found = new Map<string, InOrder>();
	for (const [name, { id }] of Object.entries(programmes)) {
		const rows = db.selectFrom("conversions").selectAll().where("programme_id", "=", id).orderBy("id");
		for (const row of await rows.execute()) {
			const events = await db
				.selectFrom("events")
				.select(["events.name", "events.body"])
				.where("conversion_id", "=", row.id)
				.orderBy("events.id")
				.execute();
			const key = `${name} ${orderIdOf(row)} ${row.event_type}`;
			const replaced = found.get(key) ?? null;
			ok(replaced === null || replaced.isUnsigned, "only a pixel's conversion makes way");
			found.set(key, {
				status: row.status,
				basketValue: row.basket_value,
				pixelBasketValue: row.pixel_basket_value,
				isUnsigned: row.source === "pixel" && row.confirmed_at_ms === null,
				occurredAtMs: row.occurred_at_ms,
				test: row.test === 1,
				reason: row.reason,
				events: events.map((event) => [event.name, readOwed(event.name, event.body)]),
				windowEndsAtMs: row.window_ends_at_ms,
				ratedAtMs: row.confirmed_at_ms ?? row.created_at_ms,
				rates: readTimedRates(row.rates),
				brought: null,
				first: null,
				refunds: [],
				replaced,
			});
		}
	}
	return found;
}

function readTimedRates(stored: string | null): TimedRates {
	const [commissionRate = "", feeRate = ""] = (stored ?? "").split(" ");
	return { commissionRate, feeRate };
}

function readOwed(name: EventName, text: string): OwedBody {
	const { status, basketValue, commission, networkFee, reason, test, occurredAt } = JSON.parse(
		bodySentAt(name, text, 0),
	);
	return { status, basketValue, commission, networkFee, reason, test, occurredAt };
}

function termsOf(programme: ProgrammeName, rates: Expected["rates"]): Terms {
	return {
		...TERMS,
		parksPixels: programme === "parking",
		ratesAt(atMs) {
			const found = rates[programme].findLast(({ fromMs }) => fromMs <= atMs);
			if (found === undefined) throw new Error(`${programme} had no rates at ${atMs}`);
			const { commissionRate, feeRate } = found;
			return { commissionRate, feeRate };
		},
	};
}

function splitOrder(order: string): { orderId: string; eventType: EventType } {
	const [orderId = "", eventType] = order.split(" ");
	return { orderId, eventType: eventType === "LEAD" ? "LEAD" : "SALE" };
}

export const LIFECYCLE_PROPERTIES: readonly FuzzProperty[] = [WALKS];
