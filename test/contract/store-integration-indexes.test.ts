// What the integration page asks of large tables is answered along an index on both databases, and by looking at
// a bounded number of rows.

import { deepEqual, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { sql } from "kysely";
import { readCallbackHealth } from "../../src/callbacks/health.ts";
import { explainOrder } from "../../src/conversions/explain-order.ts";
import { findDeliveryDetail, listAttempts } from "../../src/store/attempt-list.ts";
import {
	type DeliveryFilter,
	listDeliveries,
	listDeliveriesOfConversion,
	newestProgress,
} from "../../src/store/delivery-list.ts";
import { type InboundFilter, listInboundCalls } from "../../src/store/inbound-list.ts";
import { readIntegrationChecks } from "../../src/store/integration-checks.ts";
import { listApiKeys } from "../../src/store/keys.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { findNewestTest } from "../../src/store/test-conversion.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { analyseAsInService, plansOf } from "../support/query-plan.ts";

const ROWS = 40_000;
const PROGRAMMES = 200;
/** Has half of all rows, so that PostgreSQL may walk the primary key and leave out every other row. */
const LARGE = 1;
const SMALL = 7;

eachDatabase("indexes of the integration page", (database) => {
	before(() => fill(database.store));

	const cursor = { at: START_MS, id: ROWS / 2 };
	const lists: readonly [title: string, index: string, filter: Partial<DeliveryFilter>][] = [
		["the newest deliveries", "deliveries_by_programme", {}],
		["a later page of deliveries", "deliveries_by_programme", { after: cursor }],
		[
			"delivered ones of one event",
			"deliveries_by_programme",
			{ state: "delivered", event: "conversion.reversed" },
		],
		["failed ones", "deliveries_failed", { state: "failed" }],
		["a later page of failed ones", "deliveries_failed", { state: "failed", after: cursor }],
		["pending ones", "queue_by_due", { state: "pending" }],
		["a later page of pending ones", "queue_by_due", { state: "pending", after: cursor }],
		["an order's deliveries", "conversions_by_order", { orderId: "order 2" }],
	];
	for (const [title, index, filter] of lists) {
		test(`${title}: along ${index}`, async () => {
			const list = (programmeId: number) => (db: Db) =>
				listDeliveries(db, { programmeId, limit: 25, ...filter });
			await checkPlans([index], list(SMALL));
			await checkPlans([], list(LARGE));
		});
	}

	const calls: readonly [title: string, index: string, filter: Partial<InboundFilter>][] = [
		["the newest calls", "inbound_calls_by_programme", {}],
		["refused calls", "inbound_calls_by_programme", { result: "refused" }],
		["a later page of calls", "inbound_calls_by_programme", { after: cursor }],
		["an order's calls", "inbound_calls_by_order", { orderId: "order 2" }],
	];
	for (const [title, index, filter] of calls) {
		test(`${title}: along ${index}`, async () => {
			const list = (programmeId: number) => (db: Db) =>
				listInboundCalls(db, { programmeId, limit: 50, ...filter });
			await checkPlans([index], list(SMALL));
			await checkPlans([], list(LARGE));
		});
	}

	test("why an order is not here", async () => {
		await checkPlans(["conversions_by_order", "inbound_calls_by_order"], (db) =>
			explainOrder(db, SMALL, "order 2"),
		);
		await checkPlans(["inbound_calls_by_programme"], (db) => explainOrder(db, SMALL, "no such order"));
	});

	test("the checks, the health strip, the last test and the keys", async () => {
		await checkPlans([], (db) => readIntegrationChecks(db, SMALL));
		await checkPlans(["queue_by_due", "deliveries_by_programme"], (db) =>
			readCallbackHealth(db, SMALL, START_MS),
		);
		await checkPlans(["conversions_tests"], (db) => findNewestTest(db, LARGE));
		await checkPlans([], (db) => listApiKeys(db, SMALL, 50));
	});

	test("what a live page asks every second", async () => {
		await checkPlans(["deliveries_by_programme", "inbound_calls_by_programme"], (db) =>
			newestProgress(db, SMALL),
		);
	});

	test("a delivery, its attempts, and a conversion's deliveries", async () => {
		await checkPlans([], (db) => findDeliveryDetail(db, LARGE, "dlv2"));
		await checkPlans([], (db) => listAttempts(db, 2));
		await checkPlans(["events_once_per_conversion"], (db) => listDeliveriesOfConversion(db, 2));
	});

	/** No query of `run` walks a large table, and together they use the indexes. */
	async function checkPlans(indexes: readonly string[], run: (db: Db) => Promise<unknown>): Promise<void> {
		const { kind, store } = database;
		const plans = await plansOf(kind, store.db, run);
		ok(plans.length > 0);
		// A derived table of at most a thousand rows is read whole; "endpoints" and "api_keys" are as small here.
		const walks = plans.flatMap((plan) => plan.walks).filter((walk) => LARGE_TABLES.includes(walk));
		deepEqual(walks, []);
		const used = new Set(plans.flatMap((plan) => plan.indexes));
		for (const index of indexes) ok(used.has(index), `uses ${[...used].join(", ")} and not ${index}`);
	}
});

const LARGE_TABLES = [
	"deliveries",
	"events",
	"conversions",
	"queue",
	"attempts",
	"inbound_calls",
	"callback_hours",
];

async function fill(store: Store): Promise<void> {
	const { db } = store;
	const insert = (table: string, columns: string, values: string, rows = ROWS) =>
		sql
			.raw(
				`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
				insert into ${table} (${columns}) select ${values} from n`,
			)
			.execute(db);
	const programme = `case when i % 2 = 0 then ${LARGE} else 2 + i % ${PROGRAMMES - 1} end`;
	const scattered = `${START_MS} + (i * 1009) % 100000 - 50000`;
	await insert(
		"programmes",
		`id, public_id, name, currency, commission_rate, fee_rate, approval_days, parks_pixels, parked_days,
			created_at_ms`,
		"i, 'prg' || i, 'Shop', 'EUR', '1', '1', 30, 1, 30, 0",
		PROGRAMMES,
	);
	await insert(
		"conversions",
		`id, public_id, programme_id, order_id, event_type, status, basket_value, commission, network_fee, currency,
			test, source, occurred_at_ms, created_at_ms, updated_at_ms`,
		`i, 'cnv' || i, ${programme}, 'order ' || i, 'SALE', 'APPROVED', '100.00', '7.50', '2.00', 'EUR', 0,
			case when i % 5000 = 0 then 'test' else 'postback' end, 0, 0, 0`,
	);
	await insert("events", "id, conversion_id, name, body", "i, i, 'conversion.recorded', '{\"a body\":true}'");
	await insert(
		"deliveries",
		"id, public_id, programme_id, state, run, attempts, created_at_ms, finished_at_ms, failed_at_ms",
		`i, 'dlv' || i, ${programme}, case when i % 100 < 2 then 'failed' else 'delivered' end, 1, 1, 0, ${scattered},
			case when i % 100 < 2 then ${scattered} end`,
	);
	await insert(
		"queue",
		"id, programme_id, due_at_ms, endpoint_epoch, run, counted, seq",
		`i, ${programme}, ${scattered}, 0, 1, 0, 0`,
	);
	await insert(
		"attempts",
		"delivery_id, seq, run, result, http_status, started_at_ms, took_ms",
		`i, 1, 1, 'answered', 200, ${scattered}, i % 100`,
	);
	await insert(
		"inbound_calls",
		"programme_id, kind, method, target, outcome, http_status, order_id, at_ms",
		`${programme}, 'api', 'POST', '/v1/conversions', 'RECORDED', 201, 'order ' || i, ${scattered}`,
	);
	await insert(
		"callback_hours",
		"programme_id, hour_ms, delivered, failed",
		`i % ${PROGRAMMES}, ${START_MS} - (i / ${PROGRAMMES}) * 3600000, 1, 1`,
	);
	// PostgreSQL gathers statistics by itself; a SQLite file in service has none, and plans without.
	await analyseAsInService(store);
}
