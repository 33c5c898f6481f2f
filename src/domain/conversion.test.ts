import assert from "node:assert/strict";
import { test } from "node:test";
import {
	EVENT_TYPES,
	judgeArrival,
	judgeMove,
	type Move,
	parseEventType,
	parseReason,
	REASONS,
	type Source,
	STATUSES,
	type Status,
} from "./conversion.ts";
import { EVENT_NAMES, type EventName } from "./event-name.ts";
import { plainWords } from "./fault.ts";

type Expected = "already" | "refuse" | readonly [to: Status, announces: EventName | null];

const approves = ["APPROVED", "conversion.approved"] as const;
const rejects = ["REJECTED", "conversion.rejected"] as const;
const reverses = ["REVERSED", "conversion.reversed"] as const;
const confirms = ["RECORDED", null] as const;
const expires = ["EXPIRED", null] as const;
const no = "refuse";

const MOVES: readonly Move[] = ["confirm", "expire", "approve", "reject", "reverse"];

const MATRIX: Readonly<Record<Status, readonly Expected[]>> = {
	PARKED: [confirms, expires, no, no, no],
	EXPIRED: [no, "already", no, no, no],
	RECORDED: ["already", no, approves, rejects, reverses],
	APPROVED: [no, no, "already", no, reverses],
	REJECTED: [no, no, no, "already", no],
	REVERSED: [no, no, no, no, "already"],
};

for (const present of STATUSES) {
	for (const [i, move] of MOVES.entries()) {
		const expected = MATRIX[present][i];
		test(`contract 3: to ${move} a conversion that is ${present} gives ${describe(expected)}`, () => {
			const verdict = judgeMove(present, move);
			const found = verdict.kind === "apply" ? [verdict.to, verdict.announces] : verdict.kind;
			assert.deepEqual(found, expected);
		});
	}
}

test("a refused move names the present status and says what to do instead", () => {
	for (const present of STATUSES) {
		for (const move of MOVES) {
			const verdict = judgeMove(present, move);
			if (verdict.kind !== "refuse") continue;
			assert.equal(verdict.fault.code, "move_not_allowed");
			assert.ok(verdict.fault.detail.startsWith(`This conversion is ${present} and cannot be `));
			assert.match(verdict.fault.detail, /\. (Confirm it first|Only a conversion that is )/);
		}
	}
	assert.equal(
		refusal("REJECTED", "reverse"),
		"This conversion is REJECTED and cannot be reversed. " +
			"Only a conversion that is RECORDED or APPROVED can be reversed.",
	);
	assert.equal(
		refusal("PARKED", "approve"),
		"This conversion is PARKED and cannot be approved. Confirm it first with POST /v1/conversions.",
	);
});

test("no refusal's plain words have anything of the API in them", () => {
	for (const present of STATUSES) {
		for (const move of MOVES) {
			const verdict = judgeMove(present, move);
			if (verdict.kind !== "refuse") continue;
			assert.doesNotMatch(plainWords(verdict.fault), /[A-Z]{2,}|\/v1/, `${present} ${move}`);
			assert.match(plainWords(verdict.fault), new RegExp(`is ${present.toLowerCase()}\\b`));
		}
	}
	for (const reason of ["", "BORED"]) {
		const parsed = parseReason(reason);
		assert.ok(!parsed.ok);
		assert.doesNotMatch(plainWords(parsed.fault), /[A-Z]{2,}/);
	}
});

test("contract 3 rule 1: only arriving announces conversion.recorded, and confirming never does", () => {
	const announced = STATUSES.flatMap((present) => MOVES.map((move) => judgeMove(present, move)))
		.filter((verdict) => verdict.kind === "apply")
		.map((verdict) => verdict.announces);
	assert.equal(announced.includes("conversion.recorded"), false);
	assert.equal(judgeArrival("postback", true).announces, "conversion.recorded");
});

test("contract 3 rule 2: no sequence of moves announces an event twice", () => {
	const starts = [judgeArrival("postback", true), judgeArrival("pixel", true)];
	const open = starts.map(({ status, announces }) => ({
		status,
		sent: announces === null ? [] : [announces],
	}));
	let walks = 0;
	for (let walk = open.pop(); walk !== undefined; walk = open.pop()) {
		walks++;
		assert.equal(new Set(walk.sent).size, walk.sent.length, walk.sent.join());
		for (const move of MOVES) {
			const verdict = judgeMove(walk.status, move);
			if (verdict.kind !== "apply") continue;
			const sent = verdict.announces === null ? walk.sent : [...walk.sent, verdict.announces];
			open.push({ status: verdict.to, sent });
		}
	}
	// Five nodes below each RECORDED (itself, approve, approve-reverse, reject, reverse), PARKED and EXPIRED.
	assert.equal(walks, 5 + 2 + 5);
});

test("contract 3: a conversion is recorded and announced on arrival, unless a pixel's is parked", () => {
	const recorded = { status: "RECORDED", announces: "conversion.recorded" };
	const parked = { status: "PARKED", announces: null };
	const cases: [source: Source, parksPixels: boolean, expected: object][] = [
		["postback", true, recorded],
		["postback", false, recorded],
		["test", true, recorded],
		["test", false, recorded],
		["pixel", true, parked],
		["pixel", false, recorded],
	];
	for (const [source, parks, expected] of cases) {
		assert.deepEqual(judgeArrival(source, parks), expected, `${source} ${parks}`);
	}
});

test("contract 6: there are four events and no event for parking, confirming or expiring", () => {
	const names = ["conversion.recorded", "conversion.approved", "conversion.rejected", "conversion.reversed"];
	assert.deepEqual(EVENT_NAMES, names);
});

test("statuses, event types and reasons are exactly the decided words", () => {
	assert.deepEqual(STATUSES.toSorted(), "APPROVED EXPIRED PARKED RECORDED REJECTED REVERSED".split(" "));
	assert.deepEqual(EVENT_TYPES, "SALE LEAD SIGNUP SUBSCRIPTION RENEWAL INSTALL OTHER".split(" "));
	const reasons =
		"RETURN CANCELLED PAYMENT_FAILED CHARGEBACK OUT_OF_STOCK DUPLICATE FRAUD TERMS_VIOLATION SELF_REFERRAL " +
		"OTHER_CHANNEL INVALID_LEAD TEST_ORDER TRACKING_ERROR OTHER";
	assert.deepEqual(REASONS, reasons.split(" "));
});

test("an event type is accepted only as one of its words, in capitals", () => {
	for (const word of EVENT_TYPES) assert.deepEqual(parseEventType(word), { ok: true, value: word });
	for (const word of ["", "sale", "SALE ", " SALE", "SALES", "RETURN", "constructor", "0"]) {
		const result = parseEventType(word);
		assert.equal(result.ok || result.fault.code, "unknown_event_type", word);
		assert.equal(result.ok || result.fault.field, "eventType");
		assert.ok(!result.ok && EVENT_TYPES.every((known) => result.fault.detail.includes(known)));
	}
});

test("a reason is mandatory and accepted only as one of its words, in capitals", () => {
	for (const word of REASONS) assert.deepEqual(parseReason(word), { ok: true, value: word });
	for (const word of [undefined, "", "return", "RETURN ", "RETURNED", "SALE", "null", "constructor"]) {
		const result = parseReason(word);
		const code = word === undefined || word === "" ? "missing_reason" : "unknown_reason";
		assert.equal(result.ok || result.fault.code, code, `${word}`);
		assert.equal(result.ok || result.fault.field, "reason");
		assert.ok(!result.ok && REASONS.every((known) => result.fault.detail.includes(known)));
	}
});

function describe(expected: Expected | undefined): string {
	return typeof expected === "object"
		? `${expected[0]} and announces ${expected[1] ?? "nothing"}`
		: `"${expected}"`;
}

function refusal(present: Status, move: Move): string {
	const verdict = judgeMove(present, move);
	assert.equal(verdict.kind, "refuse");
	return verdict.kind === "refuse" ? verdict.fault.detail : "";
}
