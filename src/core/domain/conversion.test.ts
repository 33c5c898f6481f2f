import assert from "node:assert/strict";
import { test } from "node:test";
import {
	announcedBy,
	DECIDED_STATUSES,
	EVENT_TYPES,
	IMPORTED_STATUSES,
	judgeMove,
	judgeReport,
	type KnownOrder,
	moveRule,
	nameAsReplaced,
	parseEventType,
	parseReason,
	REASONS,
	type Reporter,
	reportedOrderId,
	SOURCES,
	type Source,
	STATUSES,
	type Status,
	statusAfter,
} from "./conversion.ts";
import { EVENT_NAMES, type EventName } from "./event-name.ts";
import { plainWords } from "./fault.ts";

type Expected = "already" | "refuse" | readonly [to: Status | null, announces: EventName | null];

const approves = ["APPROVED", "conversion.approved"] as const;
const rejects = ["REJECTED", "conversion.rejected"] as const;
const reverses = ["REVERSED", "conversion.reversed"] as const;
const expires = ["EXPIRED", null] as const;
const stays = [null, null] as const;
const no = "refuse";

type Move = Parameters<typeof judgeMove>[1];
const MOVES: readonly Move[] = ["expire", "approve", "reject", "reverse", "refund"];

const MATRIX: Readonly<Record<Status, readonly Expected[]>> = {
	PARKED: [expires, no, no, no, no],
	EXPIRED: ["already", no, no, no, no],
	RECORDED: [no, approves, rejects, reverses, stays],
	APPROVED: [no, "already", no, reverses, stays],
	REJECTED: [no, no, "already", no, no],
	REVERSED: [no, no, no, "already", no],
};

for (const present of STATUSES) {
	for (const [i, move] of MOVES.entries()) {
		const expected = MATRIX[present][i];
		test(`contract 3: to ${move} a conversion that is ${present} gives ${describe(expected)}`, () => {
			const verdict = judgeMove(present, move);
			const { to, announces } = moveRule(move);
			const found = verdict.kind === "apply" ? [to, announces] : verdict.kind;
			assert.deepEqual(found, expected);
		});
	}
}

test("the stored order ID of a replaced conversion still gives the reported one", () => {
	const known = { orderId: "A-1", publicId: "cnv_1" };
	const replaced = { ...known, orderId: nameAsReplaced(known) };
	assert.notEqual(replaced.orderId, "A-1");
	for (const conversion of [known, replaced]) assert.equal(reportedOrderId(conversion), "A-1");
});

test("a refused move names the present status and says what to do instead", () => {
	for (const present of STATUSES) {
		for (const move of MOVES) {
			const verdict = judgeMove(present, move);
			if (verdict.kind !== "refuse") continue;
			assert.equal(verdict.fault.code, "move_not_allowed");
			assert.ok(verdict.fault.detail.startsWith(`This conversion is ${present} and cannot be `));
			assert.match(
				verdict.fault.detail,
				/\. (Confirm it first|Report the sale first|Only a conversion that is )/,
			);
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
	assert.equal(
		refusal("EXPIRED", "reverse"),
		"This conversion is EXPIRED and cannot be reversed. Report the sale first with POST /v1/conversions.",
	);
});

test("refusals for people contain no words of the API", () => {
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

const records = ["record", "RECORDED", "conversion.recorded"] as const;
const parks = ["park", "PARKED", null] as const;
const confirms = ["confirm", "RECORDED", null] as const;
const nothing = "duplicate";

/**
 * The effect of each kind of report on an order. `known` is the source of the order's first report, its
 * present status, and "confirmed" if the shop's server has confirmed it.
 */
const REPORTS: readonly [
	known: readonly [Source, Status, "confirmed"?] | null,
	byServer: readonly [...unknown[]] | string,
	byParkingPixel: readonly [...unknown[]] | string,
	byRecordingPixel: readonly [...unknown[]] | string,
][] = [
	[null, records, parks, records],
	[["pixel", "PARKED"], confirms, nothing, nothing],
	[["pixel", "EXPIRED"], records, nothing, nothing],
	[["pixel", "RECORDED"], confirms, nothing, nothing],
	[["pixel", "RECORDED", "confirmed"], nothing, nothing, nothing],
	[["pixel", "APPROVED"], nothing, nothing, nothing],
	[["pixel", "REJECTED"], records, nothing, nothing],
	[["pixel", "REVERSED"], records, nothing, nothing],
	[["pixel", "REJECTED", "confirmed"], nothing, nothing, nothing],
	[["pixel", "REVERSED", "confirmed"], nothing, nothing, nothing],
	[["pixel", "APPROVED", "confirmed"], nothing, nothing, nothing],
	[["postback", "RECORDED"], nothing, nothing, nothing],
	[["postback", "APPROVED"], nothing, nothing, nothing],
	[["postback", "REJECTED"], nothing, nothing, nothing],
	[["postback", "REVERSED"], nothing, nothing, nothing],
	[["test", "RECORDED"], nothing, nothing, nothing],
	[["import", "RECORDED"], nothing, nothing, nothing],
	[["import", "APPROVED"], nothing, nothing, nothing],
	[["import", "REJECTED"], nothing, nothing, nothing],
	[["import", "REVERSED"], nothing, nothing, nothing],
];

for (const [known, byServer, byParkingPixel, byRecordingPixel] of REPORTS) {
	const what = known === null ? "an order that is new" : `a ${known.join(" ")} order`;
	test(`contract 3: the effect of a report on ${what}`, () => {
		const order: KnownOrder | null =
			known === null ? null : { source: known[0], status: known[1], isConfirmed: known[2] === "confirmed" };
		const judge = (source: Reporter, parksPixels: boolean) => {
			const verdict = judgeReport({ source, isTest: false }, parksPixels, order);
			if (verdict.kind !== "apply") return verdict.kind;
			const ofTest = judgeReport({ source, isTest: true }, parksPixels, order);
			assert.equal(
				ofTest.kind,
				verdict.move === "confirm" ? "duplicate" : "apply",
				"a test confirms nothing",
			);
			const { to, announces } = moveRule(verdict.move);
			return [verdict.move, to, announces];
		};
		for (const parksPixels of [true, false]) {
			for (const source of SOURCES.filter((one) => one !== "pixel" && one !== "import")) {
				assert.deepEqual(judge(source, parksPixels), byServer, `${source}, parks: ${parksPixels}`);
			}
		}
		assert.deepEqual(judge("pixel", true), byParkingPixel, "pixel, parks");
		assert.deepEqual(judge("pixel", false), byRecordingPixel, "pixel, does not park");
	});
}

test("contract 3 rules 1 and 2: no sequence of reports and moves announces an event twice, and confirming none", () => {
	interface Walk {
		order: KnownOrder | null;
		sent: readonly EventName[];
	}
	const open: Walk[] = [{ order: null, sent: [] }];
	const ends = new Set<string>();
	for (let walk = open.pop(); walk !== undefined; walk = open.pop()) {
		const { order, sent } = walk;
		assert.equal(new Set(sent).size, sent.length, sent.join());
		if (order !== null) ends.add(`${order.source} ${order.status} ${sent.length}`);
		const go = (next: KnownOrder, announces: EventName | null) =>
			open.push({ order: next, sent: announces === null ? sent : [...sent, announces] });
		for (const source of ["postback", "pixel"] as const) {
			for (const parksPixels of [true, false]) {
				const verdict = judgeReport({ source, isTest: false }, parksPixels, order);
				if (verdict.kind === "duplicate") continue;
				const { announces } = moveRule(verdict.move);
				if (verdict.move === "confirm") assert.equal(announces, null);
				const isConfirmed = verdict.move === "confirm";
				const reporter = isConfirmed && order !== null ? order.source : source;
				// The report creates a new conversion of the same order, so the events of the old conversion do not
				// count for it.
				const isAnother = order !== null && verdict.move === "record";
				const next = {
					source: reporter,
					status: statusAfter(verdict.move, order?.status ?? null),
					isConfirmed,
				};
				if (isAnother) open.push({ order: next, sent: announces === null ? [] : [announces] });
				else go(next, announces);
			}
		}
		// A refund leaves the status as it is and announces nothing, so the walk would never end.
		for (const move of order === null ? [] : MOVES.filter((one) => one !== "refund")) {
			const verdict = order === null ? null : judgeMove(order.status, move);
			const { announces } = moveRule(move);
			if (order !== null && verdict?.kind === "apply")
				go({ ...order, status: statusAfter(move, order.status) }, announces);
		}
	}
	assert.ok(ends.has("postback REVERSED 3"), "recorded, approved and reversed, each told once");
	assert.ok(ends.has("pixel REVERSED 2"), "a confirmed parked one is told from its first decision on");
	assert.equal(Math.max(...[...ends].map((end) => Number(end.split(" ")[2]))), 3);
});

test("contract 6: there are four events and no event for parking, confirming or expiring", () => {
	const names = ["conversion.recorded", "conversion.approved", "conversion.rejected", "conversion.reversed"];
	assert.deepEqual(EVENT_NAMES, names);
});

test("an import announces nothing, whatever its status", () => {
	assert.equal(announcedBy("import"), null);
	assert.equal(announcedBy("approve"), "conversion.approved");
	assert.deepEqual(DECIDED_STATUSES, ["APPROVED", "REJECTED", "REVERSED"]);
	assert.deepEqual(IMPORTED_STATUSES, ["RECORDED", "APPROVED", "REJECTED", "REVERSED"]);
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
		? `${expected[0] ?? "the same status"} and announces ${expected[1] ?? "nothing"}`
		: `"${expected}"`;
}

function refusal(present: Status, move: Move): string {
	const verdict = judgeMove(present, move);
	assert.equal(verdict.kind, "refuse");
	return verdict.kind === "refuse" ? verdict.fault.detail : "";
}
