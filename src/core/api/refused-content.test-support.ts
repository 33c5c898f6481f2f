// Lists, for each fault code, a call that is refused because of its content.

import assert from "node:assert/strict";
import { MAX_STREAMS_A_RECEIVER } from "#modules/feeds/api/event-streams.ts";
import { MAX_REFUNDS } from "#modules/refunds/domain/refund.ts";
import { expectValue } from "../../../test/support/shop-account.ts";
import { signedRequest } from "../../../test/support/signed-request.ts";
import { expireParked } from "../conversions/end-windows.ts";
import type { Status } from "../domain/conversion.ts";
import { DAY_MS } from "../domain/time.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { archiveProgramme } from "../programmes/archive.ts";
import { issueKey } from "../programmes/keys.ts";
import { MAX_BODY_BYTES } from "./read-request.ts";
import {
	type ContentCode,
	post,
	record,
	recordWith,
	SALE,
	type Scenario,
} from "./refusal-scenario.test-support.ts";
import { read, type TestShop } from "./test-shop.test-support.ts";

const get = (target: string) => (shop: TestShop) => shop.call("GET", target);
const park = async (shop: TestShop) =>
	shop.request(`/pixel/${shop.programme.public_id}.gif?orderId=A-1&basketValue=1`);

const wrong = (what: string, change: object, field: string, orderId: string | null = "A-1"): Scenario => ({
	what,
	field,
	call: post("/v1/conversions", { ...SALE, ...change }),
	...(orderId === null ? {} : { orderId }),
});
const wrongOrder = (what: string, orderId: unknown): Scenario => wrong(what, { orderId }, "orderId", null);
const wrongTime = (occurredAt: unknown): Scenario =>
	wrong(`occurredAt ${occurredAt}`, { occurredAt }, "occurredAt");
const wrongQuery = (query: string, field: string): Scenario => ({
	what: query,
	field,
	call: get(`/v1/conversions?${query}`),
});
const wrongType = (what: string, contentType: string | undefined, contentEncoding?: string): Scenario => ({
	what,
	call: recordWith({ "content-type": contentType, "content-encoding": contentEncoding }),
});
const wrongJson = (what: string, body: unknown): Scenario => ({
	what,
	call: post("/v1/conversions", body),
});
const reportingKey = (target: string, body: object): Scenario => ({
	what: `${target} with a key that reports`,
	orderId: "A-1",
	detail: /ask an owner of the programme/,
	prepare: record,
	call: async (shop) => {
		const asked = { right: "report" };
		const { key } = expectValue(await issueKey(shop.deps, shop.programme.public_id, COMMAND_LINE, asked));
		// Issuing the new key sends an announcement, which is removed here. The refused call must not send one.
		shop.announced.length = 0;
		const options = { body: { orderId: "A-1", ...body }, nowMs: shop.deps.clock.nowMs() };
		const credentials = { ...shop.credentials, key };
		return read(await shop.request(signedRequest("POST", target, credentials, options)));
	},
});
/**
 * Returns the scenario of a decision that the order's status does not allow. The detail of the fault must
 * name that status.
 */
const wrongMove = (
	target: string,
	body: object,
	status: Status,
	prepare: NonNullable<Scenario["prepare"]>,
): Scenario => ({
	what: `${target} of what is ${status}`,
	orderId: "A-1",
	detail: new RegExp(status),
	prepare,
	call: post(target, { orderId: "A-1", ...body }),
});
const recordThen =
	(target: string, body: object = {}) =>
	async (shop: TestShop) => {
		await record(shop);
		await post(target, { orderId: "A-1", ...body })(shop);
	};

const wrongReason = (what: string, target: string, reason: string | undefined): Scenario => ({
	what,
	field: "reason",
	orderId: "A-1",
	prepare: record,
	call: post(target, { orderId: "A-1", reason }),
});
const repeatedKey = (what: string, body: string, field: string, target = "/v1/conversions"): Scenario => ({
	what: `a repeated key: ${what}`,
	field,
	detail: /more than once/,
	call: post(target, body),
});
const DECISIONS: readonly (readonly [target: string, body: object])[] = [
	["/v1/approvals", {}],
	["/v1/rejections", { reason: "FRAUD" }],
	["/v1/reversals", { reason: "RETURN" }],
	["/v1/refunds", { reason: "RETURN", refundId: "R-1", amount: "30.00" }],
];

const REFUND = { orderId: "A-1", refundId: "R-1", amount: "30.00", reason: "RETURN" };
/** Returns the scenario of a refund of the order A-1, which has a value of 100.00. */
const wrongRefund = (
	what: string,
	change: object,
	field: string | undefined,
	prepare: NonNullable<Scenario["prepare"]> = record,
): Scenario => ({
	what: `a refund: ${what}`,
	...(field === undefined ? {} : { field }),
	orderId: "A-1",
	prepare,
	call: post("/v1/refunds", { ...REFUND, ...change }),
});
const refundThen = recordThen("/v1/refunds", REFUND);
/** Stores a pixel's report as RECORDED, which the shop's server has not confirmed. */
const recordByPixel = async (shop: TestShop) => {
	await park(shop);
	await shop.store.db.updateTable("conversions").set({ status: "RECORDED" }).execute();
};

const archive = async (shop: TestShop) => {
	expectValue(await archiveProgramme(shop.deps, COMMAND_LINE, shop.programme.public_id));
	shop.announced.length = 0;
};

export const CONTENT_SCENARIOS: Readonly<Record<ContentCode, readonly Scenario[]>> = {
	body_too_large: [
		{
			what: "a byte too many",
			call: post("/v1/conversions", "x".repeat(MAX_BODY_BYTES + 1)),
		},
	],
	unsupported_media_type: [
		wrongType("a form", "application/x-www-form-urlencoded"),
		wrongType("another charset", "application/json; charset=iso-8859-1"),
		wrongType("something longer", "application/json-seq"),
		wrongType("none", undefined),
		wrongType("compressed", "application/json", "gzip"),
	],
	malformed_json: [
		wrongJson("nothing", ""),
		wrongJson("broken off", '{"orderId":"A-1"'),
		wrongJson("not UTF-8", Buffer.from('{"orderId":"caf\xe9","basketValue":"1"}', "latin1")),
		wrongJson("an array", "[]"),
		wrongJson("null", "null"),
	],
	invalid_field: [
		wrongOrder("orderId missing", undefined),
		wrongOrder("orderId a number", 1),
		wrongOrder("orderId null", null),
		wrongOrder("orderId empty", ""),
		wrongOrder("orderId white space", " \u{2003}"),
		wrongOrder("orderId too long", "😀".repeat(129)),
		wrongOrder("orderId with NUL", "A\0B"),
		wrongOrder("orderId with a line feed", "A\nB"),
		wrongOrder("orderId with half a character", "A\u{d83d}"),
		wrongOrder("orderId with a space at its end", "A-1 "),
		wrongOrder("orderId with a no-break space in front", "\u{a0}A-1"),
		wrongOrder("orderId with a zero-width space", "A\u{200b}-1"),
		wrongOrder("orderId with a right-to-left override", "\u{202e}1-A"),
		...DECISIONS.map(
			([target, body]): Scenario => ({
				what: `${target} for an orderId with a no-break space at its end`,
				field: "orderId",
				detail: /U\+00A0.*nothing is trimmed/,
				prepare: record,
				call: post(target, { ...body, orderId: "A-1\u{a0}" }),
			}),
		),
		wrongQuery("orderId=A-1+", "orderId"),
		wrongQuery("orderId=A%E2%80%8B-1", "orderId"),
		repeatedKey("orderId twice", '{"orderId":"A-1","orderId":"A-2","basketValue":"1"}', "orderId"),
		repeatedKey("the same twice", '{"orderId":"A-1","basketValue":"1","basketValue":"1"}', "basketValue"),
		repeatedKey("one escaped", '{"orderId":"A-1","basketValue":"1","order\\u0049d":"A-2"}', "orderId"),
		repeatedKey("below the surface", '{"orderId":"A-1","basketValue":{"a":[{"b":1,"b":2}]}}', "b"),
		...DECISIONS.map(
			([target, body]): Scenario => ({
				...repeatedKey(
					target,
					`${JSON.stringify({ ...body, orderId: "A-2" }).slice(0, -1)},"orderId":"A-1"}`,
					"orderId",
					target,
				),
				prepare: record,
			}),
		),
		wrong("basketValue missing", { basketValue: undefined }, "basketValue"),
		wrong("basketValue null", { basketValue: null }, "basketValue"),
		wrong("eventType null", { eventType: null }, "eventType"),
		wrong("currency a number", { currency: 978 }, "currency"),
		wrong("test a word", { test: "true" }, "test"),
		...["2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00Z"].map(wrongTime),
		{
			...wrongTime("2026-02-30T12:00:00Z"),
			detail: /^occurredAt has the day 2026-02-30, which does not exist\.$/,
		},
		...[
			"2026-03-01T25:00:00Z",
			"2026-02-28T24:00:00Z",
			"2026-03-01T12:00:00+24:00",
			"2026-03-01 12:00:00Z",
			"",
		].map(wrongTime),
		...["2026-03-01T12:05:00.001Z", "1999-12-31T23:59:59.999Z", 1_772_366_400].map(wrongTime),
		...["limit=0", "limit=201", "limit=ten", "limit=-1", "limit="].map((query) => wrongQuery(query, "limit")),
		wrongQuery("status=recorded", "status"),
		wrongQuery("orderId=%00", "orderId"),
		wrongQuery("limit=1&limit=2", "limit"),
		wrongQuery("changedFrom=yesterday", "changedFrom"),
		wrongQuery("changedFrom=2026-03-01&occurredFrom=2026-03-01", "changedFrom"),
		wrongQuery("changedFrom=2026-03-01&occurredBefore=2026-03-01", "changedFrom"),
		wrongRefund("neither amount nor value", { amount: undefined }, "amount"),
		wrongRefund("amount and value", { basketValue: "70.00" }, "amount"),
		wrongRefund("no refundId", { refundId: undefined }, "refundId"),
		wrongRefund("an empty refundId", { refundId: "" }, "refundId"),
		wrongRefund("a refundId with a zero-width space", { refundId: "R\u{200b}" }, "refundId"),
		wrongRefund("a refundId that is a number", { refundId: 1 }, "refundId"),
	],
	unknown_field: [
		wrong("a field nobody knows", { amount: "1" }, "amount"),
		wrong("a misspelt name", { orderID: "A-1", orderId: undefined }, "orderID", null),
		wrong("a name full of control characters", { "\0\n": "1" }, "\0\n"),
		wrongReason("a reason for an approval", "/v1/approvals", "OTHER"),
		wrongQuery("page=2", "page"),
	],
	amount_not_a_string: [
		wrong("a JSON number", { basketValue: 100.1 }, "basketValue"),
		wrongRefund("a JSON number", { amount: 30 }, "amount"),
	],
	malformed_amount: [
		...["", "1,50", "1e3", "1.", ".5", "01", "+1", "1 000", "NaN"].map((basketValue) =>
			wrong(`amount "${basketValue}"`, { basketValue }, "basketValue"),
		),
	],
	negative_amount: [
		wrong("below zero", { basketValue: "-0.01" }, "basketValue"),
		wrongRefund("below zero", { amount: "-30.00" }, "amount"),
	],
	amount_too_precise: [
		wrong("a tenth of a cent", { basketValue: "1.001" }, "basketValue"),
		wrongRefund("a tenth of a cent", { amount: "1.001" }, "amount"),
	],
	amount_too_large: [wrong("13 digits", { basketValue: "1000000000000" }, "basketValue")],
	unknown_currency: [
		wrong("no such currency", { currency: "XXX" }, "currency"),
		wrong("lower case", { currency: "eur" }, "currency"),
	],
	wrong_currency: [
		wrong("not the programme's", { currency: "USD" }, "currency"),
		wrongRefund("not the programme's currency", { currency: "USD" }, "currency"),
	],
	too_many_coupon_codes: [
		wrong("eleven coupon codes", { couponCodes: Array(11).fill("SUMMER10") }, "couponCodes"),
	],
	programme_archived: [
		{
			what: "a sale of an archived programme",
			orderId: "A-1",
			prepare: archive,
			call: post("/v1/conversions", { orderId: "A-1", basketValue: "1.00" }),
		},
		{
			what: "the events of an archived programme",
			prepare: archive,
			call: get("/v1/events"),
		},
	],
	unknown_event_type: [wrong("lower case", { eventType: "sale" }, "eventType")],
	unknown_reason: [wrongReason("a reason of one's own", "/v1/reversals", "BORED")],
	missing_reason: [
		...["/v1/rejections", "/v1/reversals"].map((target) => wrongReason(target, target, undefined)),
		wrongRefund("no reason", { reason: undefined }, "reason"),
	],
	malformed_cursor: [
		{
			what: "a made-up cursor",
			field: "cursor",
			call: get("/v1/conversions?cursor=cnv_00000000000000000000000000"),
		},
		{ what: "rubbish", field: "cursor", call: get("/v1/conversions?cursor=%00%27--") },
	],
	unknown_order: [
		{
			what: "an order nobody reported",
			field: "orderId",
			orderId: "A-2",
			detail: /spelling/,
			prepare: record,
			call: post("/v1/approvals", { orderId: "A-2" }),
		},
		{
			what: "another event type",
			field: "orderId",
			orderId: "A-1",
			detail: /known as SALE/,
			prepare: record,
			call: post("/v1/reversals", { orderId: "A-1", eventType: "LEAD", reason: "RETURN" }),
		},
		{
			what: "a refund of an order nobody reported",
			field: "orderId",
			orderId: "A-2",
			prepare: record,
			call: post("/v1/refunds", { ...REFUND, orderId: "A-2" }),
		},
	],
	unknown_conversion: [
		{ what: "an id nobody has", call: get("/v1/conversions/cnv_00000000000000000000000000") },
		{ what: "no id", call: get("/v1/conversions/%00%27") },
	],
	not_found: [{ what: "a path nobody serves", call: get("/v1/conversion") }],
	method_not_allowed: [
		{ what: "DELETE", call: (shop) => shop.call("DELETE", "/v1/conversions") },
		{ what: "a signed GET of decisions", call: get("/v1/approvals") },
	],
	move_not_allowed: [
		wrongMove("/v1/approvals", {}, "REVERSED", recordThen("/v1/reversals", { reason: "RETURN" })),
		wrongMove("/v1/approvals", {}, "REJECTED", recordThen("/v1/rejections", { reason: "FRAUD" })),
		wrongMove("/v1/rejections", { reason: "FRAUD" }, "APPROVED", recordThen("/v1/approvals")),
		wrongMove(
			"/v1/reversals",
			{ reason: "RETURN" },
			"REJECTED",
			recordThen("/v1/rejections", { reason: "FRAUD" }),
		),
		wrongMove("/v1/refunds", REFUND, "REJECTED", recordThen("/v1/rejections", { reason: "FRAUD" })),
		wrongMove("/v1/refunds", REFUND, "REVERSED", recordThen("/v1/reversals", { reason: "RETURN" })),
		wrongMove("/v1/refunds", REFUND, "PARKED", park),
		wrongMove("/v1/approvals", {}, "PARKED", park),
		wrongMove("/v1/approvals", {}, "EXPIRED", async (shop) => {
			await park(shop);
			shop.moveClock(31 * DAY_MS);
			assert.equal(await expireParked(shop.deps, () => false), 1);
			shop.moveClock(-31 * DAY_MS);
		}),
	],
	zero_refund: [wrongRefund("nothing", { amount: "0.00" }, "amount")],
	refund_above_value: [
		wrongRefund("more than the value", { amount: "100.01" }, "amount"),
		{
			...wrongRefund("more than is left", { refundId: "R-2", amount: "70.01" }, "amount", refundThen),
			detail: /Only 70\.00 EUR is left/,
		},
	],
	value_not_lower: [
		wrongRefund("a value above the present one", { amount: undefined, basketValue: "100.01" }, "basketValue"),
		wrongRefund("the present value", { amount: undefined, basketValue: "100.00" }, "basketValue"),
	],
	refund_id_used: [
		wrongRefund("another amount", { amount: "30.01" }, "refundId", refundThen),
		wrongRefund("another value", { amount: undefined, basketValue: "60.00" }, "refundId", refundThen),
	],
	too_many_refunds: [
		wrongRefund("one more than a conversion may have", { refundId: "new" }, undefined, async (shop) => {
			await record(shop);
			for (let n = 0; n < MAX_REFUNDS; n++) {
				await post("/v1/refunds", { ...REFUND, refundId: `R-${n}`, amount: "0.01" })(shop);
			}
		}),
	],
	nothing_to_refund: [
		wrongRefund(
			"an order without a value",
			{},
			undefined,
			post("/v1/conversions", { ...SALE, basketValue: "0" }),
		),
	],
	not_confirmed: [wrongRefund("only a pixel has reported it", {}, undefined, recordByPixel)],
	key_may_not_decide: [
		reportingKey("/v1/approvals", {}),
		reportingKey("/v1/rejections", { reason: "FRAUD" }),
	],
	too_many_streams: [
		{
			what: "one stream more than a programme may have",
			prepare: async (shop) => {
				for (let open = 0; open < MAX_STREAMS_A_RECEIVER; open++) {
					const options = { nowMs: shop.deps.clock.nowMs() };
					await shop.request(signedRequest("GET", "/v1/events", shop.credentials, options));
				}
			},
			call: get("/v1/events"),
		},
	],
};
