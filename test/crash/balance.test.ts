// Tests the checks themselves. A correct ledger must pass, and every way to break a promise must be found.
// Rules about a single delivery are tested by the planted defects of the simulation
// (test/simulation/defects.ts).

import { deepEqual, throws } from "node:assert/strict";
import { describe, test } from "node:test";
import type { StatementCopies } from "../support/money-auditor.ts";
import { receiverId } from "../support/receiver-ids.ts";
import { makeSoundMoney } from "../support/sound-money.ts";
import { checkArrivals } from "./arrivals.ts";
import { checkEnd } from "./balance.ts";
import type { AnsweredOrder } from "./intake.ts";
import type { DeliveryEntry } from "./ledger.ts";
import type { Arrival } from "./receiving-shop.ts";

const QUIET_AT_MS = 1_000_000;
const RETRY_AT_MS = QUIET_AT_MS + 60_000;
const KILLED_AT_MS = 200;

type Entry = { -readonly [Field in keyof DeliveryEntry]: DeliveryEntry[Field] };
type Draft = ReturnType<typeof makeSoundRound>;

/**
 * Returns a correct round. It has an approved and refunded order, whose first event was hit by a kill and
 * whose second event is pending, and a parked order. A statement of the last month has been issued.
 */
function makeSoundRound() {
	const recorded = makeDelivery("cnv_a conversion.recorded", [attempt(1, 204, "n2")]);
	Object.assign(recorded, { state: "delivered", finished_at_ms: 900_000 });
	const approved = makeDelivery("cnv_a conversion.approved", [attempt(1, 503, "n3")]);
	approved.queued = makeQueued(1);
	const order = {
		orderId: "1-0",
		publicId: "cnv_a",
		status: "APPROVED",
		basketValue: "6.00",
		moves: ["record", "approve", "refund"],
		events: ["conversion.recorded", "conversion.approved"],
		partnerEvents: [],
	};
	const parked = {
		orderId: "1-1",
		publicId: "cnv_b",
		status: "RECORDED",
		basketValue: "10.00",
		moves: ["park", "confirm"],
		events: [],
		partnerEvents: [],
	};
	const strays: string[] = [];
	const money = makeSoundMoney();
	const copies: StatementCopies = new Map();
	return {
		recorded,
		approved,
		order,
		ledger: { conversions: [order, parked], deliveries: [recorded, approved], engines: [], strays, money },
		witnessed: {
			answered: new Map<string, AnsweredOrder>([
				["1-0", { conversionId: "cnv_a", status: "APPROVED", nextStatus: null, isRefunded: true }],
				["1-1", { conversionId: "cnv_b", status: "RECORDED", nextStatus: "APPROVED", isRefunded: false }],
			]),
			earlier: structuredClone({ conversions: [order], deliveries: [recorded], engines: [], strays, money }),
			copies,
		},
		kills: [{ atMs: KILLED_AT_MS, keys: new Set([recorded.key]) }],
		arrivals: [
			arrival(recorded.key, "n1", 204, KILLED_AT_MS - 1),
			arrival(recorded.key, "n2", 204),
			arrival(approved.key, "n3", 503),
		],
	};
}

function makeDelivery(key: string, log: DeliveryEntry["log"]): Entry {
	return {
		...{ id: 1, public_id: "dlv_1", receiver_id: receiverId(1), state: "pending", run: 1, key, log },
		...{ conversion_id: 1, name: "conversion.recorded" },
		...{ attempts: log.length, created_at_ms: 0, queued: null, undelivered: null, due_at_ms: null },
		last_http_status: log.at(-1)?.http_status ?? null,
		...{
			last_attempt_at_ms: log.at(-1)?.started_at_ms ?? null,
			finished_at_ms: null,
			failed_at_ms: null,
			set_aside: null,
		},
	};
}

function makeQueued(attempts: number, dueAtMs = RETRY_AT_MS): NonNullable<Entry["queued"]> {
	const numbers = { run: 1, counted: attempts, seq: attempts };
	return {
		id: 1,
		receiver_id: receiverId(1),
		due_at_ms: dueAtMs,
		endpoint_epoch: 0,
		...numbers,
		owner: null,
	};
}

/** Returns an attempt with the status that the shop answered, or without an answer if it is null. */
function attempt(seq: number, http_status: number | null, nonce: string): Entry["log"][number] {
	const isKept = http_status !== null && http_status !== 204;
	return {
		...{ delivery_id: 1, seq, run: 1, http_status, nonce, started_at_ms: seq },
		result: http_status === null ? "timeout" : "answered",
		answer: isKept ? "busy" : null,
		...{ detail: null, took_ms: 1, look_up_ms: null, connect_ms: null, tls_ms: null, answer_ms: null },
		...{ endpoint_id: 1, signature: "" },
	} as Entry["log"][number];
}

function arrival(key: string, nonce: string, httpStatus: number, atMs = KILLED_AT_MS + 1): Arrival {
	return { key, nonce, httpStatus, atMs };
}

/** Changes the delivery to a pending one with these attempts and consistent counts. */
function relog(delivery: Entry, ...log: Entry["log"]): void {
	Object.assign(delivery, makeDelivery(delivery.key, log), { queued: makeQueued(log.length) });
	delivery.last_http_status = log.findLast(({ http_status }) => http_status !== null)?.http_status ?? null;
}

function check({ ledger, witnessed, arrivals, kills }: Draft) {
	checkEnd(ledger, witnessed, QUIET_AT_MS);
	return checkArrivals(ledger, arrivals, kills);
}

test("a correct ledger passes, and repeated events are counted by their cause", () => {
	deepEqual(check(makeSoundRound()), { reached: 2, retried: 0, duplicates: 1 });
	const retried = makeSoundRound();
	retried.arrivals.push(arrival(retried.approved.key, "n4", 503));
	relog(retried.approved, attempt(1, 503, "n3"), attempt(2, 503, "n4"));
	deepEqual(check(retried), { reached: 2, retried: 1, duplicates: 1 });
});

const set = Object.assign<object, object>;

const DEFECTS: Readonly<Record<string, readonly [plant: (draft: Draft) => unknown, finding: RegExp]>> = {
	"an answered conversion is gone": [
		({ ledger }) => ledger.conversions.pop(),
		/1-1 was answered.*not stored/,
	],
	"a conversion has another ID than its answer": [
		({ order }) => set(order, { publicId: "cnv_c" }),
		/has the id that was answered/,
	],
	"an answered move is not stored": [
		({ order }) => set(order, { status: "RECORDED" }),
		/answered as APPROVED and is stored as RECORDED/,
	],
	"an answered refund is not stored": [
		({ order }) => set(order, { basketValue: "10.00" }),
		/answered with the value 6.00 and is stored with 10.00/,
	],
	"an approval has no entry": [({ ledger }) => ledger.money.entries.shift(), /^9 .* has -32 for/],
	"a move has lost its event": [({ order }) => order.events.pop(), /owes an event for each/],
	"an event belongs to no move": [({ order }) => order.moves.shift(), /owes an event for each/],
	"a move was made twice, and announced twice": [
		({ order }) => [order.moves.push("approve"), order.events.push("conversion.approved")],
		/has an event twice/,
	],
	"a row breaks a rule": [({ ledger }) => ledger.strays.push("event 7"), /belongs to nothing/],
	"a conversion is stored that was never answered": [
		({ witnessed }) => witnessed.answered.delete("1-1"),
		/nothing else/,
	],
	"a final delivery is pending again": [
		({ recorded }) => relog(recorded, attempt(1, null, "n2")),
		/it was final and has changed/,
	],
	"a final delivery has ended a second time": [
		({ recorded }) => set(recorded, { finished_at_ms: 950_000 }),
		/it was final and has changed/,
	],
	"a delivery is gone": [
		({ ledger, order }) => [ledger.deliveries.shift(), order.moves.shift(), order.events.shift()],
		/it has vanished/,
	],
	"a final delivery has no end": [
		({ recorded }) => set(recorded, { finished_at_ms: null }),
		/it ended at null/,
	],
	"an attempt is missing from the log": [
		({ recorded }) => set(recorded, { log: [attempt(2, 204, "n2")] }),
		/it counts 1 attempts/,
	],
	"the count of attempts is wrong": [
		({ approved }) => set(approved, { attempts: 2 }),
		/it counts 2 attempts/,
	],
	"an attempt is not counted in the queue": [
		({ approved }) => set(approved, { queued: { ...makeQueued(1), counted: 0 } }),
		/the queue must have/,
	],
	"nothing of a failed attempt's answer is stored": [
		({ approved }) => set(approved, { log: [{ ...attempt(1, 503, "n3"), answer: null }] }),
		/it shows 503/,
	],
	"a run was resent before it had ended": [
		({ approved }) => set(approved, { run: 2, queued: { ...makeQueued(1), run: 2, counted: 0 } }),
		/never ended/,
	],
	"an eighth attempt is counted": [
		({ approved }) =>
			relog(approved, ...Array.from({ length: 8 }, (_, index) => attempt(index + 1, null, `x${index}`))),
		/8 attempts/,
	],
	"a due delivery was not sent": [
		({ approved }) => set(approved, { queued: makeQueued(1, QUIET_AT_MS) }),
		/due and was not sent/,
	],
	"a delivery is pending and was never tried": [
		({ approved, arrivals }) => [
			relog(approved),
			set(approved, { last_attempt_at_ms: null }),
			arrivals.pop(),
		],
		/nothing was tried/,
	],
	"an event arrives again although no kill hit it": [
		({ arrivals, approved }) => arrivals.push(arrival(approved.key, "n4", 503)),
		/1 arrivals are not in its log, and 0 kills hit it/,
	],
	"an event arrives more often than kills hit it": [
		({ arrivals, recorded }) => arrivals.unshift(arrival(recorded.key, "n0", 204, 0)),
		/2 arrivals are not in its log, and 1 kills hit it/,
	],
	"an event arrives again, and the kill was before both requests": [
		({ arrivals, recorded }) => arrivals.splice(0, 1, arrival(recorded.key, "n1", 204)),
		/1 arrivals are not in its log, and 1 kills hit it, not all behind them/,
	],
	"an event arrives again that the killed process did not own": [
		({ kills, approved }) => kills.splice(0, 1, { atMs: KILLED_AT_MS, keys: new Set([approved.key]) }),
		/1 arrivals are not in its log, and 0 kills hit it/,
	],
	"an event arrives again after it was accepted": [
		({ arrivals }) => arrivals.reverse(),
		/it came again after 204/,
	],
	"a nonce comes twice": [
		({ arrivals, recorded }) => arrivals.unshift(arrival(recorded.key, "n2", 204)),
		/no nonce comes twice/,
	],
	"a request arrives that belongs to no delivery": [
		({ arrivals }) => arrivals.push(arrival("cnv_x conversion.recorded", "n9", 204)),
		/owed to nobody/,
	],
	"a request is in the log and never arrived": [
		({ arrivals }) => arrivals.pop(),
		/n3 is in its log and never/,
	],
	"the log shows another answer than the shop gave": [
		({ arrivals, approved }) => arrivals.splice(2, 1, arrival(approved.key, "n3", 502)),
		/n3 was answered otherwise/,
	],
};

describe("an incorrect ledger is found", () => {
	for (const [title, [plant, finding]] of Object.entries(DEFECTS)) {
		test(`when ${title}`, () => {
			const draft = makeSoundRound();
			plant(draft);
			throws(() => check(draft), { message: finding });
		});
	}
});
