// Tests refunds through the app, on both databases: the amounts that are left, the entries in the partner's account
// after each step, repeated refunds, several processes at once, the event feed, and the change of a partner after the
// approval. modules/refunds/domain/refund.test.ts tests the rule, and src/core/api/refused-content.test-support.ts the
// refusals of the API.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { makeShop, read } from "#core/api/test-shop.test-support.ts";
import { changeOrders } from "#core/conversions/change-orders.ts";
import type { Decided } from "#core/conversions/deps.ts";
import { approveDue } from "#core/conversions/end-windows.ts";
import { recordConversion, reportRequest } from "#core/conversions/record.ts";
import { bodySentAt } from "#core/domain/event.ts";
import { formatMinor, minorUnits } from "#core/domain/money.ts";
import { DAY_MS, MINUTE_MS } from "#core/domain/time.ts";
import { repeatConflicts } from "#core/store/conflict.ts";
import { startOfFeed } from "#core/store/queries/announced-moves.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import { createTestSite, type TestSite } from "#core/web/test-site.test-support.ts";
import { invitePartner } from "#modules/partners/use-cases/partners.ts";
import { addPartnership } from "#modules/partners/use-cases/partnerships.ts";
import { savePartnerTerms } from "#modules/partners/use-cases/terms.ts";
import { listRefunds } from "#modules/refunds/store/refunds.ts";
import { refundRequest } from "#modules/refunds/use-cases/refund.ts";
import { createApp } from "../../src/app.ts";
import { assignAsShown } from "../support/assign-partner.ts";
import { holdsSomebodyUp } from "../support/between-statements.ts";
import { setPartnership } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { startListening } from "../support/listener.ts";
import { addConversion, findConversion } from "../support/rows.ts";
import { type Credentials, signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";

const TERMS = {
	creditsPartners: "on",
	clickDays: "30",
	clickParameter: "rbclick",
	showsBaskets: "",
	isListed: "",
	takesApplications: "",
	terms: "",
	hosts: "shop.example",
};

eachDatabase("refunds", (database) => {
	const clock = createClock(START_MS);
	let site: TestSite;
	let app: ReturnType<typeof createApp>;
	/** App of the same service in another process. On SQLite both share the store. */
	let otherApp: ReturnType<typeof createApp>;
	let programme: Programme;
	let credentials: Credentials;
	let actor: { personId: number; kind: "staff"; sessionId: string };
	const partnerIds = new Map<string, number>();
	let orders = 0;

	before(async () => {
		const { store, rival } = database;
		site = createTestSite(store, { change: { clock } });
		app = createApp(site.deps);
		otherApp = createApp(createTestSite(rival, { change: { clock } }).deps);
		const shop = await makeShop(site.deps);
		credentials = shop.credentials;
		const staff = await site.addStaff();
		await site.signIn(staff);
		const session = await store.db.selectFrom("sessions").select("id").executeTakeFirstOrThrow();
		actor = { personId: staff.id, kind: "staff", sessionId: session.id };
		ok((await savePartnerTerms(site.deps, actor, shop.programme.id, TERMS)).ok);
		programme = (await findProgramme(store.db, shop.programme.public_id)) ?? shop.programme;
		for (const [name, rate] of [
			["seven", "7.0000"],
			["ten", "10.0000"],
		] as const) {
			const invited = await invitePartner(site.deps, actor, {
				name,
				site: "",
				email: `${name}@blog.example`,
			});
			ok(invited.ok);
			const made = await addPartnership(site.deps, actor, programme.id, invited.value.partner);
			ok(made.ok);
			await setPartnership(store.db, made.value.id, { commission_rate: rate });
			partnerIds.set(name, made.value.partner_id);
		}
	});

	async function call(target: string, body: object, through = app, by = credentials) {
		const options = { nowMs: clock.nowMs(), body: JSON.stringify(body) };
		return read(await through.request(signedRequest("POST", target, by, options)));
	}

	async function get(target: string, by = credentials) {
		return read(await app.request(signedRequest("GET", target, by, { nowMs: clock.nowMs() })));
	}

	const assign = (id: string, partner: string) =>
		assignAsShown(site.deps, actor, id, { partner, reason: "they brought it" });

	/** Reports a sale that staff assign to the partner. */
	async function sell({ partner = "seven", basketValue = "100.00" } = {}): Promise<string> {
		const orderId = `R-${++orders}`;
		const { json } = await call("/v1/conversions", { orderId, basketValue });
		ok((await assign(json.conversion?.id ?? "", partner)).ok);
		return orderId;
	}

	const refund = (orderId: string, refundId: string, amount: string, through = app) =>
		call("/v1/refunds", { orderId, refundId, amount, reason: "RETURN" }, through);
	const approve = (orderId: string, through = app) => call("/v1/approvals", { orderId }, through);
	const reverse = (orderId: string, through = app) =>
		call("/v1/reversals", { orderId, reason: "RETURN" }, through);

	async function stored(orderId: string) {
		const found = await findConversion(database.store.db, programme.id, orderId);
		ok(found);
		return found;
	}

	/** Returns the entries of the order as texts such as "seven EARNED 7.00". */
	async function entriesOf(orderId: string): Promise<string[]> {
		const { id } = await stored(orderId);
		const entries = await database.store.db
			.selectFrom("entries")
			.selectAll()
			.where("conversion_id", "=", id)
			.orderBy("id")
			.execute();
		const names = new Map([...partnerIds].map(([name, partnerId]) => [partnerId, name]));
		return entries.map(({ partner_id, kind, amount }) => `${names.get(partner_id)} ${kind} ${amount}`);
	}

	/** Checks that the order's entries add up to its commission if it is approved, and to zero otherwise. */
	async function checkBalance(orderId: string): Promise<void> {
		const { status, commission } = await stored(orderId);
		const sum = (await entriesOf(orderId)).reduce(
			(total, entry) => total + minorUnits(entry.split(" ")[2] ?? "0"),
			0n,
		);
		equal(formatMinor(sum, 2), status === "APPROVED" ? commission : "0.00", orderId);
	}

	test("a refund keeps the partner that staff assigned, and its rate", async () => {
		const orderId = await sell({ basketValue: "60.00" });
		equal((await stored(orderId)).commission, "4.20");
		const { status, json } = await refund(orderId, "1", "1.00");
		deepEqual([status, json.outcome], [200, "REFUNDED"]);
		const { conversion } = json;
		deepEqual(
			[conversion?.basketValue, conversion?.commission, conversion?.refundedValue, conversion?.status],
			["59.00", "4.13", "1.00", "RECORDED"],
		);
		deepEqual(json.refund, {
			refundId: "1",
			amount: "1.00",
			basketValue: "59.00",
			reason: "RETURN",
			refundedAt: conversion?.updatedAt,
		});
		await approve(orderId);
		deepEqual(await entriesOf(orderId), ["seven EARNED 4.13"]);
	});

	test("the partner's account follows each step: approval, refunds, and the refund of the rest, which is a reversal", async () => {
		const orderId = await sell();
		await refund(orderId, "1", "10.00");
		deepEqual(await entriesOf(orderId), []);
		await approve(orderId);
		deepEqual(await entriesOf(orderId), ["seven EARNED 6.30"]);
		await refund(orderId, "2", "20.00");
		deepEqual(await entriesOf(orderId), ["seven EARNED 6.30", "seven CHANGED -1.40"]);
		const left = { orderId, refundId: "3", basketValue: "0.05", reason: "CANCELLED" };
		equal((await call("/v1/refunds", left)).json.refund?.amount, "69.95");
		const { json } = await refund(orderId, "4", "0.05");
		deepEqual([json.outcome, json.conversion?.status], ["REVERSED", "REVERSED"]);
		deepEqual(await entriesOf(orderId), ["seven EARNED 6.30", "seven CHANGED -1.40", "seven CHANGED -4.90"]);
		const { basket_value, commission, refunded_value, reason, decided_by } = await stored(orderId);
		deepEqual(
			[basket_value, commission, refunded_value, reason, decided_by],
			["0.05", "0.00", "99.95", "RETURN", "shop"],
			"a reversal leaves the amounts as they were before it",
		);
		await checkBalance(orderId);
		const shown = await get(`/v1/conversions/${json.conversion?.id}`);
		deepEqual(
			shown.json.refunds?.map(({ refundId, amount, basketValue, reason: why }) => [
				refundId,
				amount,
				basketValue,
				why,
			]),
			[
				["1", "10.00", "90.00", "RETURN"],
				["2", "20.00", "70.00", "RETURN"],
				["3", "69.95", "0.05", "CANCELLED"],
				["4", "0.05", "0.00", "RETURN"],
			],
		);
	});

	test("the reversal of a conversion that was partly refunded takes back what is left of the commission", async () => {
		const orderId = await sell();
		await approve(orderId);
		await refund(orderId, "1", "40.00");
		equal((await reverse(orderId)).json.conversion?.basketValue, "60.00");
		deepEqual(await entriesOf(orderId), ["seven EARNED 7.00", "seven CHANGED -2.80", "seven CHANGED -4.20"]);
	});

	test("a repeated refund changes nothing and has the same answer, also after a rejection or a reversal", async () => {
		for (const end of ["none", "/v1/rejections", "/v1/reversals", "/v1/refunds"]) {
			const orderId = await sell();
			const first = await refund(orderId, "1", "30.00");
			if (end === "/v1/refunds") await refund(orderId, "rest", "70.00");
			else if (end !== "none") await call(end, { orderId, reason: "FRAUD" });
			const present = await stored(orderId);
			await clock.moveBy(MINUTE_MS);
			for (const value of [{ amount: "30.00" }, { amount: "30" }, { basketValue: "70.00" }]) {
				const again = await call("/v1/refunds", { orderId, refundId: "1", reason: "OTHER", ...value });
				deepEqual([again.status, again.json.outcome], [200, "REFUNDED"], end);
				deepEqual(again.json.refund, first.json.refund);
				equal(again.json.conversion?.status, present.status);
			}
			deepEqual(await stored(orderId), present);
			equal((await listRefunds(database.store.db, present.id)).length, end === "/v1/refunds" ? 2 : 1);
			equal((await refund(orderId, "1", "31.00")).json.code, "refund_id_used");
			if (end === "/v1/refunds") equal((await refund(orderId, "rest", "70.00")).json.outcome, "REVERSED");
		}
	});

	test("the same refund sent to two processes at once is stored once", async () => {
		for (let round = 0; round < 8; round++) {
			const orderId = await sell();
			if (round % 2 === 0) await approve(orderId);
			const answers = await Promise.all(
				[app, otherApp, app, otherApp].map((through) => refund(orderId, "1", "30.00", through)),
			);
			for (const { status, json } of answers) {
				deepEqual(
					[status, json.outcome, json.conversion?.basketValue, json.conversion?.commission],
					[200, "REFUNDED", "70.00", "4.90"],
				);
			}
			equal((await listRefunds(database.store.db, (await stored(orderId)).id)).length, 1);
			await checkBalance(orderId);
		}
	});

	test("different refunds sent to two processes at once never refund more than there is", async () => {
		for (let round = 0; round < 8; round++) {
			const orderId = await sell();
			await approve(orderId);
			const answers = await Promise.all(
				[app, otherApp, app, otherApp, app].map((through, n) => refund(orderId, `${n}`, "30.00", through)),
			);
			const words = answers.map(({ json }) => json.outcome ?? json.code).sort();
			deepEqual(words, ["REFUNDED", "REFUNDED", "REFUNDED", "refund_above_value", "refund_above_value"]);
			const { basket_value, refunded_value, commission } = await stored(orderId);
			deepEqual([basket_value, refunded_value, commission], ["10.00", "90.00", "0.70"]);
			await checkBalance(orderId);
		}
	});

	test("refunds beside an approval, a reversal or a change of the partner leave the account equal to the commission", async () => {
		const beside = [
			(orderId: string) => approve(orderId, otherApp),
			(orderId: string) => reverse(orderId, otherApp),
			async (orderId: string) => assign((await stored(orderId)).public_id, "ten"),
		];
		for (let round = 0; round < 12; round++) {
			const orderId = await sell();
			if (round >= 6) await approve(orderId);
			const other = beside[round % beside.length];
			ok(other);
			const [refunded] = await Promise.all([
				refund(orderId, "1", "30.00"),
				other(orderId),
				refund(orderId, "2", "20.00", otherApp),
			]);
			ok([200, 409].includes(refunded.status), JSON.stringify(refunded.json));
			await checkBalance(orderId);
			const { id, status, basket_value, refunded_value } = await stored(orderId);
			const sum = (await listRefunds(database.store.db, id)).reduce(
				(total, { amount }) => total + minorUnits(amount),
				0n,
			);
			equal(minorUnits(refunded_value ?? "0.00"), sum);
			equal(minorUnits(basket_value) + sum, 10_000n);
			if (status !== "REVERSED") equal(sum, 5_000n, "only a reversal refuses a refund here");
		}
	});

	test("a batch with a refund and a new order that another process stores first is judged again, and refunds once", async () => {
		const { kind, store, rival } = database;
		if (kind === "SQLite") return; // SQLite has one writer at a time, so this test needs PostgreSQL.
		const refunded = await sell();
		const sold = { source: "postback", orderId: `R-${++orders}`, eventType: "SALE" } as const;
		const report = { ...sold, basketValue: "5.00", occurredAtMs: null, isTest: false } as const;
		const asked = { refundId: "1", value: { amount: "30.00" }, reason: "RETURN" } as const;
		const order = { orderId: refunded, eventType: "SALE" } as const;
		let outcomes: Promise<string[]> | undefined;
		let turns = 0;
		await rival.transact(async (trx) => {
			ok((await recordConversion(trx, { ...site.deps, store: rival }, programme, report)).ok);
			const batch = repeatConflicts(clock, () =>
				store.transact((own) => {
					turns++;
					return changeOrders<Decided<string>>(own, site.deps, [
						refundRequest(programme, order, { move: "refund", decidedBy: "shop", ...asked }),
						reportRequest(site.deps, programme, report),
					]);
				}),
			);
			outcomes = batch.then(({ results }) =>
				results.map((result) => (result.ok ? result.value.outcome : result.fault.code)),
			);
			await until(() => holdsSomebodyUp(trx));
			// The first turn has locked the refunded conversion. The turn ends with a conflict, which rolls the refund back.
		});
		deepEqual([await outcomes, turns], [["REFUNDED", "DUPLICATE"], 2]);
		equal((await listRefunds(store.db, (await stored(refunded)).id)).length, 1);
		await checkBalance(refunded);
	});

	test("amounts are exact in currencies with 0, 2 and 3 decimals", async () => {
		for (const [currency, basketValue, amount, expected] of [
			["JPY", "1000", "333", ["667", "53", "17", "333"]],
			["EUR", "100.00", "33.33", ["66.67", "5.33", "1.67", "33.33"]],
			["KWD", "10.000", "3.333", ["6.667", "0.533", "0.167", "3.333"]],
		] as const) {
			const shop = await makeShop(site.deps, { currency });
			const orderId = `in ${currency}`;
			await call("/v1/conversions", { orderId, basketValue }, app, shop.credentials);
			const body = { orderId, refundId: "1", amount, currency, reason: "RETURN" };
			const { conversion } = (await call("/v1/refunds", body, app, shop.credentials)).json;
			deepEqual(
				[conversion?.basketValue, conversion?.commission, conversion?.networkFee, conversion?.refundedValue],
				expected,
			);
			const foreign = { ...body, refundId: "2", currency: "USD" };
			equal((await call("/v1/refunds", foreign, app, shop.credentials)).json.code, "wrong_currency");
			const rest = { orderId, refundId: "3", basketValue: "0", reason: "RETURN" };
			equal((await call("/v1/refunds", rest, app, shop.credentials)).json.outcome, "REVERSED");
		}
	});

	test("the amounts of an imported conversion, which has no rates, shrink in proportion to its value", async () => {
		const { order_id: orderId } = await addConversion(database.store, programme.id, {
			...{ order_id: "imported", status: "APPROVED", source: "import", rates: null },
			...{ basket_value: "90.00", commission: "10.00", network_fee: "1.00", window_ends_at_ms: null },
		});
		// The second refund must leave 3.33. It would leave 3.34 if it were computed from the rounded commission 6.67.
		for (const [refundId, amounts] of [
			["1", ["60.00", "6.67", "0.67"]],
			["2", ["30.00", "3.33", "0.33"]],
		] as const) {
			const { conversion } = (await refund(orderId, refundId, "30.00")).json;
			deepEqual([conversion?.basketValue, conversion?.commission, conversion?.networkFee], amounts);
		}
	});

	test("a bulk call refunds in its order, and several refunds of one order see each other", async () => {
		const [one, two] = [await sell(), await sell()];
		const item = (orderId: string, refundId: string, amount: string) => ({
			...{ decision: "refund", orderId, refundId, amount, reason: "RETURN" },
		});
		const items = [
			item(one, "1", "30.00"),
			{ decision: "approve", orderId: one },
			item(one, "2", "20.00"),
			item(one, "1", "30.00"),
			item(one, "1", "31.00"),
			item(two, "1", "100.01"),
			item(two, "1", "100.00"),
			{ decision: "approve", orderId: two, amount: "1.00" },
			{ decision: "refund", orderId: two, amount: "1.00", reason: "RETURN" },
			item("nobody's", "1", "1.00"),
		];
		const { json } = await call("/v1/decisions/batch", { items });
		const results = (json as { results?: { outcome?: string; problem?: { code: string; field?: string } }[] })
			.results;
		deepEqual(
			results?.map(({ outcome, problem }) => outcome ?? `${problem?.code} ${problem?.field}`),
			[
				...["REFUNDED", "APPROVED", "REFUNDED", "REFUNDED", "refund_id_used refundId"],
				...["refund_above_value amount", "REVERSED", "unknown_field amount", "invalid_field refundId"],
				"unknown_order orderId",
			],
		);
		deepEqual(await entriesOf(one), ["seven EARNED 4.90", "seven CHANGED -1.40"]);
		const calls = await database.store.db
			.selectFrom("inbound_calls")
			.select(["outcome", "detail"])
			.where("target", "=", "/v1/decisions/batch")
			.orderBy("id")
			.execute();
		match(calls[0]?.detail ?? "", /^10 items: 3 REFUNDED, 1 APPROVED, 5 refused, 1 REVERSED$/);
	});

	test("listeners and callbacks have the amounts of the moment, whatever is refunded later", async () => {
		const { store } = database;
		const start = await startOfFeed(store);
		const orderId = await sell();
		await refund(orderId, "1", "10.00");
		await approve(orderId);
		await refund(orderId, "2", "20.00");
		await refund(orderId, "3", "5.00");
		await reverse(orderId);
		const nowMs = clock.nowMs();
		const listener = await startListening(store, programme, { from: start, nowMs });
		await listener.catchUp();
		// On PostgreSQL the start may be before events of earlier tests, because transactions of other databases on the
		// same server move it back.
		const all = listener.events.map(({ body }) => JSON.parse(body));
		const bodies = all.filter((body) => body.orderId === orderId);
		deepEqual(
			bodies.map(({ event, status, basketValue, commission }) => [event, status, basketValue, commission]),
			[
				["conversion.recorded", "RECORDED", "100.00", "0.00"],
				["conversion.approved", "APPROVED", "90.00", "6.30"],
				["conversion.reversed", "REVERSED", "65.00", "4.55"],
			],
		);
		const { id } = await stored(orderId);
		const events = await store.db
			.selectFrom("events")
			.selectAll()
			.where("conversion_id", "=", id)
			.orderBy("id")
			.execute();
		deepEqual(
			bodies,
			events.map(({ name, body }) => JSON.parse(bodySentAt(name, body, nowMs))),
		);
	});

	test("the approval window approves what is left after a refund", async () => {
		const orderId = await sell();
		await refund(orderId, "1", "50.00");
		await clock.moveBy(400 * DAY_MS);
		await approveDue(site.deps, () => false);
		deepEqual(await entriesOf(orderId), ["seven EARNED 3.50"]);
	});

	test("a repeated sale report is compared with the value before refunds, and cannot undo one", async () => {
		const orderId = await sell();
		await refund(orderId, "1", "30.00");
		const again = await call("/v1/conversions", { orderId, basketValue: "100.00" });
		deepEqual(
			[again.json.outcome, again.json.differs, again.json.conversion?.basketValue],
			["DUPLICATE", undefined, "70.00"],
		);
		const other = await call("/v1/conversions", { orderId, basketValue: "70.00" });
		deepEqual(other.json.differs, ["basketValue"]);
	});

	test("changedFrom lists what changed after it was recorded, the oldest change first, page by page", async () => {
		const shop = await makeShop(site.deps);
		const make = async (orderId: string) =>
			call("/v1/conversions", { orderId, basketValue: "10.00" }, app, shop.credentials);
		for (const orderId of ["a", "b", "c", "d"]) await make(orderId);
		const step = async (target: string, body: object) => {
			await clock.moveBy(MINUTE_MS);
			await call(target, body, app, shop.credentials);
		};
		const list = async (query: string) => {
			const { status, json } = await get(`/v1/conversions?${query}`, shop.credentials);
			equal(status, 200, JSON.stringify(json));
			return json;
		};
		const ordersOf = async (query: string) => (await list(query)).conversions?.map(({ orderId }) => orderId);
		const startedAt = new Date(clock.nowMs()).toISOString();
		deepEqual(await ordersOf(`changedFrom=${startedAt}`), []);
		await step("/v1/approvals", { orderId: "c" });
		await step("/v1/refunds", { orderId: "a", refundId: "1", amount: "1.00", reason: "RETURN" });
		const later = new Date(clock.nowMs()).toISOString();
		await step("/v1/reversals", { orderId: "d", reason: "RETURN" });
		deepEqual(await ordersOf(`changedFrom=${startedAt}`), ["c", "a", "d"]);
		deepEqual(await ordersOf(`changedFrom=${later}`), ["a", "d"], "the time itself is included");
		deepEqual(await ordersOf(`changedFrom=${startedAt}&status=RECORDED`), ["a"]);
		deepEqual(await ordersOf(`changedFrom=${startedAt}&orderId=d`), ["d"]);
		deepEqual(await ordersOf(`changedFrom=${startedAt}&orderId=b`), []);
		deepEqual(await ordersOf(`changedFrom=${startedAt}&recordedBefore=${later}`), ["c", "a", "d"]);
		deepEqual(await ordersOf(`changedFrom=${startedAt}&recordedFrom=${later}`), []);
		const first = await list(`changedFrom=${startedAt}&limit=1`);
		deepEqual(
			first.conversions?.map(({ orderId }) => orderId),
			["c"],
		);
		// A conversion that changes while the pages are read appears again on a later page.
		await step("/v1/refunds", { orderId: "c", refundId: "1", amount: "1.00", reason: "RETURN" });
		const next = await list(
			`changedFrom=${startedAt}&limit=5&cursor=${encodeURIComponent(first.nextCursor ?? "")}`,
		);
		deepEqual(
			next.conversions?.map(({ orderId, basketValue }) => [orderId, basketValue]),
			[
				["a", "9.00"],
				["d", "10.00"],
				["c", "9.00"],
			],
		);
		equal(next.nextCursor, null);
		const changedAt = next.conversions?.map(({ updatedAt }) => updatedAt) ?? [];
		deepEqual(changedAt, changedAt.toSorted());
		const cursor = encodeURIComponent(first.nextCursor ?? "");
		const mixed = await get(`/v1/conversions?limit=1&cursor=${cursor}`, shop.credentials);
		equal(mixed.json.code, "malformed_cursor", "a cursor belongs to its order");
	});

	test("staff change the partner of an approved conversion: minus for the old partner, plus for the new one", async () => {
		const orderId = await sell();
		await approve(orderId);
		await refund(orderId, "1", "50.00");
		const { public_id: id } = await stored(orderId);
		ok((await assign(id, "ten")).ok);
		deepEqual(await entriesOf(orderId), [
			...["seven EARNED 7.00", "seven CHANGED -3.50", "seven CHANGED -3.50", "ten CHANGED 5.00"],
		]);
		await refund(orderId, "2", "25.00");
		equal((await entriesOf(orderId)).at(-1), "ten CHANGED -2.50", "the new partner's rate applies");
		ok((await assign(id, "")).ok);
		equal((await entriesOf(orderId)).at(-1), "ten CHANGED -2.50");
		const { commission, network_fee } = await stored(orderId);
		deepEqual([commission, network_fee], ["0.00", "0.00"]);
		await checkBalance(orderId);
		await reverse(orderId);
		const refused = await assign(id, "seven");
		ok(!refused.ok);
		match(refused.fault.detail, /is reversed, so no partner earns anything/);
	});

	test("a repeated report with a better claim changes the partner only until the approval", async () => {
		const orderId = await sell();
		await approve(orderId);
		const { public_id: id } = await stored(orderId);
		await call("/v1/conversions", { orderId, basketValue: "100.00", couponCode: "any" });
		deepEqual(await entriesOf(orderId), ["seven EARNED 7.00"]);
		const changes = await Promise.all([assign(id, "ten"), assign(id, "seven"), assign(id, "ten")]);
		ok(changes.some(({ ok: isDone }) => isDone));
		await checkBalance(orderId);
	});
});
