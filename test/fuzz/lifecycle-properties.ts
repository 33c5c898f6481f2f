// Any sequence of reports, decisions and waits on the real use cases, beside a model that knows only the house
// rules: the same outcome words, the same statuses, the same events.

import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { makeShop } from "../../src/api/test-shop.test-support.ts";
import { approveDue } from "../../src/conversions/approve-due.ts";
import type { Decision } from "../../src/conversions/decide.ts";
import { decideByOrder } from "../../src/conversions/decide-by-order.ts";
import { expireParked } from "../../src/conversions/expire-parked.ts";
import { recordConversion } from "../../src/conversions/record.ts";
import { type EventType, REASONS, type Reason } from "../../src/domain/conversion.ts";
import { type Programme, removeEndpoint, setEndpoint } from "../../src/store/programmes.ts";
import type { FuzzProperty } from "./fuzz-property.ts";
import { type FuzzService, openFuzzService } from "./fuzz-service.ts";
import {
	keyOf,
	type Model,
	type ModelMove,
	type ModelReport,
	modelDecide,
	modelReport,
	modelWait,
} from "./lifecycle-model.ts";

interface Real {
	service: FuzzService;
	programmes: Readonly<Record<"parking" | "recording", Programme>>;
	meet(kind: string): void;
}

type Step = fc.AsyncCommand<Model, Real>;

/** Few, so that steps meet each other. An order is its id and its event type. */
const ORDERS = ["A SALE", "A LEAD"] as const;
const ANY_ORDER = fc.constantFrom(...ORDERS);
const ANY_PROGRAMME = fc.constantFrom("parking" as const, "recording" as const);
const HOUR_MS = 60 * 60_000;

const REPORT = fc
	.record<ModelReport>({
		programme: ANY_PROGRAMME,
		source: fc.constantFrom("pixel", "postback"),
		order: ANY_ORDER,
		basketValue: fc.integer({ min: 0, max: 99_999 }).map((cents) => (cents / 100).toFixed(2)),
		occurredAtMs: fc.option(fc.integer({ min: 0, max: Date.UTC(2026, 0, 1) })),
		isTest: fc.boolean(),
	})
	// A browser cannot report a test, and its clock is not asked.
	.map((report) => (report.source === "pixel" ? { ...report, isTest: false, occurredAtMs: null } : report))
	.map((report) =>
		makeStep(`${report.source} ${JSON.stringify(report)}`, async (model, { service, programmes, meet }) => {
			const { orderId, eventType } = splitOrder(report.order);
			const programme = programmes[report.programme];
			const { source, basketValue, occurredAtMs, isTest } = report;
			const sale = { source, orderId, eventType, basketValue, occurredAtMs, isTest };
			const before = model.conversions.get(keyOf(report.programme, report.order))?.status;
			const { store } = service.deps;
			const result = await store.transact((trx) => recordConversion(trx, service.deps, programme, sale));
			const word = result.ok ? result.value.outcome : result.fault.code;
			equal(word, modelReport(model, report, service.nowMs()));
			meet(word);
			if (before === "EXPIRED" && word === "RECORDED") meet("late RECORDED");
			if (before === "RECORDED" && word === "CONFIRMED") meet("CONFIRMED without parking");
		}),
	);

const DECISION = fc
	.record({
		programme: ANY_PROGRAMME,
		order: ANY_ORDER,
		move: fc.constantFrom<ModelMove>("approve", "reject", "reverse"),
		reason: fc.constantFrom(...REASONS),
	})
	.map(({ programme, order, move, reason }) =>
		makeStep(`${move} ${programme} ${order} ${reason}`, async (model, { service, programmes, meet }) => {
			const { store } = service.deps;
			const decision = decisionOf(move, reason);
			const result = await store.transact((trx) =>
				decideByOrder(trx, service.deps, programmes[programme], splitOrder(order), decision),
			);
			const present = model.conversions.get(keyOf(programme, order))?.status ?? "";
			const word = result.ok ? result.value.outcome : result.fault.code;
			equal(word, modelDecide(model, programme, order, move, move === "approve" ? null : reason));
			if (!result.ok) ok(result.fault.detail.includes(present), "a refusal names the present status");
			meet(word);
		}),
	);

/** Mostly beyond the window: few walks have something that waits for its end. */
const WAIT = fc.constantFrom(1, 20 * 24, 31 * 24, 31 * 24).map((hours) =>
	makeStep(`wait ${hours} h`, async (model, { service }) => {
		service.moveClock(hours * HOUR_MS);
		await approveDue(service.deps, () => false);
		await expireParked(service.deps, () => false);
		modelWait(model, service.nowMs());
	}),
);

const URL_CHANGE = fc.tuple(ANY_PROGRAMME, fc.boolean()).map(([programme, isSet]) =>
	makeStep(`${isSet ? "save" : "remove"} the URL of ${programme}`, async (model, { service, programmes }) => {
		const { store } = service.deps;
		const { id } = programmes[programme];
		if (isSet) await setEndpoint(store.db, id, "https://shop.example/other", service.nowMs());
		else await store.transact((trx) => removeEndpoint(trx, id, service.nowMs()));
		if (isSet) model.withUrl.add(programme);
		else model.withUrl.delete(programme);
	}),
);

const WALKS: FuzzProperty = {
	name: "any walk through the lifecycle gives the outcomes, statuses and events that the rules say",
	kinds: [
		...["RECORDED", "PARKED", "CONFIRMED", "DUPLICATE", "APPROVED", "REJECTED", "REVERSED"],
		...["unknown_order", "move_not_allowed", "late RECORDED", "CONFIRMED without parking"],
	],
	share: 0.2,
	async open({ seed, meet }) {
		const service = await openFuzzService(seed);
		const walks = fc.commands<Model, Real, false>([REPORT, REPORT, DECISION, DECISION, WAIT, URL_CHANGE], {
			size: "max",
			maxCommands: 40,
		});
		const property = fc.asyncProperty(walks, async (steps) => {
			const parking = (await makeShop(service.deps, { parksPixels: true })).programme;
			const recording = (await makeShop(service.deps, { parksPixels: false })).programme;
			const programmes = { parking, recording };
			const model: Model = { conversions: new Map(), withUrl: new Set(["parking", "recording"]) };
			await fc.asyncModelRun(() => ({ model, real: { service, programmes, meet } }), steps);
			deepEqual(await readConversions(service, programmes), model.conversions, "what is stored");
			// What this walk leaves waiting would only be in the way of the next.
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

async function readConversions(
	{ deps }: FuzzService,
	programmes: Real["programmes"],
): Promise<Model["conversions"]> {
	const { db } = deps.store;
	const found: Model["conversions"] = new Map();
	for (const [name, { id }] of Object.entries(programmes)) {
		const rows = await db
			.selectFrom("conversions")
			.selectAll()
			.where("programme_id", "=", id)
			.orderBy("id")
			.execute();
		for (const row of rows) {
			const events = await db
				.selectFrom("events")
				.innerJoin("deliveries", "deliveries.id", "events.id")
				.select("events.name")
				.where("conversion_id", "=", row.id)
				.orderBy("events.id")
				.execute();
			found.set(keyOf(name, `${row.order_id} ${row.event_type}`), {
				status: row.status,
				basketValue: row.basket_value,
				pixelBasketValue: row.pixel_basket_value,
				isHearsay: row.source === "pixel" && row.confirmed_at_ms === null,
				occurredAtMs: row.occurred_at_ms,
				isTest: row.test === 1,
				reason: row.reason,
				events: events.map((event) => event.name),
				endsAtMs: row.window_ends_at_ms,
			});
		}
	}
	return found;
}

function splitOrder(order: string): { orderId: string; eventType: EventType } {
	const [orderId = "", eventType] = order.split(" ");
	return { orderId, eventType: eventType === "LEAD" ? "LEAD" : "SALE" };
}

function decisionOf(move: ModelMove, reason: Reason): Decision {
	return move === "approve" ? { move, decidedBy: "shop" } : { move, decidedBy: "shop", reason };
}

export const LIFECYCLE_PROPERTIES: readonly FuzzProperty[] = [WALKS];
