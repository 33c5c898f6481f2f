import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { isTestEvent } from "./event.ts";
import {
	composePartnerEvent,
	PARTNER_FIELDS,
	partnerBodySentAt,
	startPartnerEvent,
} from "./partner-event.ts";
import { ALL_EVENTS, isChosen, writeChosenEvents } from "./receiver.ts";

const SUBJECT = {
	conversionId: "cnv_1",
	programId: "prg_1",
	partnerId: "ptn_1",
	linkId: "summer",
	eventType: "SALE",
	basketValue: "100.00",
	commission: "7.50",
	currency: "EUR",
	reason: "REASSIGNED",
	creditedBy: "CLICK",
	subIds: ['quote " and \\', "", "ü"],
	test: true,
	clickedAtMs: 1,
	occurredAtMs: 2,
} as const;

test("the JSON body has the nineteen fields in their order, and null for what the event does not have", () => {
	const body = JSON.parse(partnerBodySentAt("conversion.reversed", composePartnerEvent(SUBJECT), 3));
	deepEqual(Object.keys(body), [...PARTNER_FIELDS]);
	deepEqual(body, {
		event: "conversion.reversed",
		conversionId: "cnv_1",
		programId: "prg_1",
		partnerId: "ptn_1",
		linkId: "summer",
		status: "REVERSED",
		eventType: "SALE",
		basketValue: "100.00",
		commission: "7.50",
		currency: "EUR",
		reason: "REASSIGNED",
		creditedBy: "CLICK",
		sub1: 'quote " and \\',
		sub2: null,
		sub3: "ü",
		test: true,
		clickedAt: "1970-01-01T00:00:00.001Z",
		occurredAt: "1970-01-01T00:00:00.002Z",
		sentAt: "1970-01-01T00:00:00.003Z",
	});
	const bare = { ...SUBJECT, linkId: null, basketValue: null, reason: null, clickedAtMs: null, test: false };
	const { linkId, basketValue, reason, clickedAt, test } = JSON.parse(
		partnerBodySentAt("conversion.recorded", composePartnerEvent(bare), 3),
	);
	deepEqual([linkId, basketValue, reason, clickedAt, test], [null, null, null, null, false]);
});

test("a test is recognized in the stored event of a partner as in that of a shop", () => {
	equal(isTestEvent(composePartnerEvent(SUBJECT)), true);
	equal(isTestEvent(composePartnerEvent({ ...SUBJECT, test: false })), false);
});

test("the database completes the beginning of an event with the partner and the link", () => {
	equal(`${startPartnerEvent(SUBJECT)}ptn_1\nsummer`, composePartnerEvent(SUBJECT));
});

test("a partner gets the events that it chose, and a tracker without {test} gets no tests", () => {
	const approved = { name: "conversion.approved", isTest: false } as const;
	const json = { form: "json", url: "https://p.example/", chosenEvents: ALL_EVENTS } as const;
	equal(isChosen(json, approved), true);
	equal(isChosen({ ...json, chosenEvents: writeChosenEvents(["conversion.recorded"]) }, approved), false);
	equal(isChosen(json, { ...approved, isTest: true }), true);
	const get = { ...json, form: "get" } as const;
	equal(isChosen(get, { ...approved, isTest: true }), false);
	equal(isChosen({ ...get, url: "https://p.example/?t={test}" }, { ...approved, isTest: true }), true);
});
