import assert from "node:assert/strict";
import { test } from "node:test";
import type { PostbackEvent } from "../../../receiver/src/event.ts";
import { bodySentAt, composeEvent, type EventSubject } from "./event.ts";
import { EVENT_NAMES, type EventName } from "./event-name.ts";

/** The fields of contract section 2.1, in that order. */
const FIELDS =
	"event conversionId orderId programId status eventType basketValue commission networkFee currency reason " +
	"test occurredAt sentAt";
const ISO_WITH_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const SENT_AT_MS = Date.UTC(2026, 0, 1);

const SALE: EventSubject = {
	conversionId: "cnv_01KDW000000000000000000000",
	orderId: "A-1001",
	programId: "prg_01KDW000000000000000000000",
	status: "APPROVED",
	eventType: "SALE",
	basketValue: "129.90",
	commission: "10.39",
	networkFee: "2.60",
	currency: "EUR",
	reason: null,
	test: false,
	occurredAtMs: Date.UTC(2025, 11, 31, 23, 58, 41, 120),
};

test("contract 2.1: the body of an approved sale is exactly these bytes", () => {
	assert.equal(
		bodySentAt("conversion.approved", composeEvent(SALE), SENT_AT_MS),
		'{"event":"conversion.approved","conversionId":"cnv_01KDW000000000000000000000","orderId":"A-1001",' +
			'"programId":"prg_01KDW000000000000000000000","status":"APPROVED","eventType":"SALE",' +
			'"basketValue":"129.90","commission":"10.39","networkFee":"2.60","currency":"EUR","reason":null,' +
			'"test":false,"occurredAt":"2025-12-31T23:58:41.120Z","sentAt":"2026-01-01T00:00:00.000Z"}',
	);
});

test("contract 2.1: every event has the 14 fields and no other, in the contract's order", () => {
	for (const event of EVENT_NAMES) {
		for (const reason of [null, "RETURN"] as const) {
			const body = sent({ ...SALE, reason }, event);
			assert.equal(Object.keys(body).join(" "), FIELDS);
			assert.equal(body.event, event);
		}
	}
	assert.equal(FIELDS.split(" ").length, 14);
});

test("contract 2.1: no other column of the conversion reaches the body", () => {
	const withMore = { ...SALE, secret: "s3cret", id: 7, email: "buyer@shop.example" };
	assert.equal(Object.keys(sent(withMore)).join(" "), FIELDS);
});

test("contract 2.1: timestamps are ISO 8601 UTC with milliseconds, even at a whole second", () => {
	const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
	for (const atMs of [0, 1, 999, 1_000, SENT_AT_MS, SENT_AT_MS + 7, lastMs]) {
		const body: Record<string, unknown> = JSON.parse(
			bodySentAt("conversion.approved", composeEvent({ ...SALE, occurredAtMs: atMs }), atMs),
		);
		for (const name of ["occurredAt", "sentAt"]) {
			assert.match(String(body[name]), ISO_WITH_MILLISECONDS);
			assert.equal(Date.parse(String(body[name])), atMs);
		}
	}
});

function sent(subject: EventSubject, event: EventName = "conversion.approved"): PostbackEvent {
	return JSON.parse(bodySentAt(event, composeEvent(subject), SENT_AT_MS));
}
