// The check itself: a sound ledger passes, and every way in which a promise can be broken is found.

import { deepEqual, throws } from "node:assert/strict";
import { describe, test } from "node:test";
import { checkArrivals } from "./arrivals.ts";
import { checkEnd } from "./balance.ts";
import type { AnsweredOrder } from "./intake.ts";
import type { AttemptEntry, DeliveryEntry } from "./ledger.ts";
import type { Arrival } from "./receiving-shop.ts";

const QUIET_AT_MS = 1_000_000;
const RETRY_AT_MS = QUIET_AT_MS + 60_000;
const KILLED_AT_MS = 200;

type Draft = ReturnType<typeof makeSoundRound>;

/** An approved order whose first event was hit by a kill and whose second is to be retried; and a parked one. */
function makeSoundRound() {
	const recorded: Mutable<DeliveryEntry> = {
		key: "cnv_a conversion.recorded",
		state: "delivered",
		run: 1,
		attempts: 1,
		finishedAtMs: 900_000,
		queued: null,
		log: [attempt(1, "answered", 204, "n2")],
	};
	const approved: Mutable<DeliveryEntry> = {
		key: "cnv_a conversion.approved",
		state: "pending",
		run: 1,
		attempts: 1,
		finishedAtMs: null,
		queued: { dueAtMs: RETRY_AT_MS, owner: null, counted: 1, seq: 1 },
		log: [attempt(1, "answered", 503, "n3")],
	};
	const order = {
		orderId: "1-0",
		publicId: "cnv_a",
		status: "APPROVED",
		moves: [
			{ move: "record", toStatus: "RECORDED" },
			{ move: "approve", toStatus: "APPROVED" },
		],
		events: ["conversion.recorded", "conversion.approved"],
	};
	const parked = {
		orderId: "1-1",
		publicId: "cnv_b",
		status: "RECORDED",
		moves: [
			{ move: "park", toStatus: "PARKED" },
			{ move: "confirm", toStatus: "RECORDED" },
		],
		events: [],
	};
	const strays: string[] = [];
	return {
		recorded,
		approved,
		order,
		ledger: { conversions: [order, parked], deliveries: [recorded, approved], engines: [], strays },
		witnessed: {
			answered: new Map<string, AnsweredOrder>([
				["1-0", { conversionId: "cnv_a", status: "APPROVED", nextStatus: null }],
				["1-1", { conversionId: "cnv_b", status: "RECORDED", nextStatus: "APPROVED" }],
			]),
			earlier: structuredClone({ conversions: [order], deliveries: [recorded], engines: [], strays }),
		},
		kills: [{ atMs: KILLED_AT_MS, keys: new Set([recorded.key]) }],
		arrivals: [
			arrival(recorded.key, "n1", 204, KILLED_AT_MS - 1),
			arrival(recorded.key, "n2", 204),
			arrival(approved.key, "n3", 503),
		],
	};
}

type Mutable<Entry> = { -readonly [Field in keyof Entry]: Entry[Field] };

function attempt(
	seq: number,
	result: AttemptEntry["result"],
	httpStatus: number | null,
	nonce: string | null,
): AttemptEntry {
	return { seq, run: 1, result, httpStatus, nonce };
}

function arrival(key: string, nonce: string, httpStatus: number, atMs = KILLED_AT_MS + 1): Arrival {
	return { key, nonce, httpStatus, atMs };
}

function check({ ledger, witnessed, arrivals, kills }: Draft) {
	checkEnd(ledger, witnessed, QUIET_AT_MS);
	return checkArrivals(ledger, arrivals, kills);
}

test("a sound ledger balances, and what came again is counted by why it did", () => {
	deepEqual(check(makeSoundRound()), { reached: 2, retried: 0, duplicates: 1 });
	const retried = makeSoundRound();
	retried.arrivals.push(arrival(retried.approved.key, "n4", 503));
	appendAttempt(retried.approved, attempt(2, "answered", 503, "n4"));
	deepEqual(check(retried), { reached: 2, retried: 1, duplicates: 1 });
});

/** With the queue's own counts kept right. */
function appendAttempt(delivery: Mutable<DeliveryEntry>, entry: AttemptEntry): void {
	delivery.log = [...delivery.log, entry];
	delivery.attempts++;
	if (delivery.queued === null) return;
	const { queued } = delivery;
	delivery.queued = { ...queued, counted: queued.counted + 1, seq: queued.seq + 1 };
}

function makePending(delivery: Mutable<DeliveryEntry>): void {
	delivery.state = "pending";
	delivery.finishedAtMs = null;
}

const QUEUED = { dueAtMs: RETRY_AT_MS, owner: null, counted: 1, seq: 1 };

const DEFECTS: ReadonlyArray<readonly [title: string, plant: (draft: Draft) => void, finding: RegExp]> = [
	[
		"an answered conversion is gone",
		({ ledger }) => ledger.conversions.pop(),
		/1-1 was answered.*not stored/,
	],
	[
		"a conversion has another id than was answered",
		({ order }) => {
			order.publicId = "cnv_c";
		},
		/has the id that was answered/,
	],
	[
		"an answered move is not stored",
		({ order, ledger, witnessed }) => {
			order.status = "RECORDED";
			order.moves.pop();
			order.events.pop();
			ledger.deliveries.pop();
			witnessed.earlier.deliveries = [];
		},
		/answered as APPROVED and is stored as RECORDED/,
	],
	["a move has lost its event", ({ order }) => order.events.pop(), /owes an event for each/],
	["an event is there that no move owes", ({ order }) => order.moves.shift(), /owes an event for each/],
	[
		"a move was made twice, and announced twice",
		({ order }) => {
			order.moves.push({ move: "approve", toStatus: "APPROVED" });
			order.events.push("conversion.approved");
		},
		/has an event twice/,
	],
	[
		"the status is not that of the last move",
		({ order }) => order.moves.reverse(),
		/status of its last move/,
	],
	["an event has no delivery", ({ ledger }) => ledger.strays.push("event 7"), /belongs to nothing/],
	[
		"a slot belongs to an engine that is gone",
		({ ledger }) => ledger.strays.push("slot 7, which engine 8 has left behind"),
		/belongs to nothing/,
	],
	[
		"somebody is stored whom nobody was answered about",
		({ witnessed }) => witnessed.answered.delete("1-1"),
		/nothing else/,
	],
	[
		"a final delivery is still in the queue",
		({ recorded }) => {
			recorded.queued = QUEUED;
		},
		/in the queue is what is pending/,
	],
	[
		"a pending delivery has fallen out of the queue",
		({ approved }) => {
			approved.queued = null;
		},
		/in the queue is what is pending/,
	],
	[
		"a final delivery has come to life again",
		({ recorded }) => {
			makePending(recorded);
			recorded.queued = QUEUED;
			recorded.log = [attempt(1, "timeout", null, "n2")];
		},
		/it was final and has changed/,
	],
	[
		"a final delivery has ended a second time",
		({ recorded }) => {
			recorded.finishedAtMs = 950_000;
		},
		/it was final and has changed/,
	],
	[
		"a delivery that was there is gone",
		({ ledger, order }) => {
			ledger.deliveries.shift();
			order.moves.shift();
			order.events.shift();
		},
		/it has vanished/,
	],
	[
		"an attempt is missing from the log",
		({ recorded }) => {
			recorded.log = [attempt(2, "answered", 204, "n2")];
		},
		/without a gap/,
	],
	[
		"the count of attempts is wrong",
		({ approved }) => {
			approved.attempts = 2;
		},
		/shows all its attempts/,
	],
	[
		"an attempt is not counted in the queue",
		({ approved }) => {
			approved.queued = { ...QUEUED, counted: 0 };
		},
		/the queue counts/,
	],
	[
		"an eighth attempt is counted",
		({ approved }) => {
			for (let seq = 2; seq <= 8; seq++) appendAttempt(approved, attempt(seq, "timeout", null, `x${seq}`));
		},
		/8 attempts are counted/,
	],
	[
		"a delivery goes on after a 404",
		({ approved }) => {
			approved.log = [attempt(1, "answered", 404, "n3")];
			appendAttempt(approved, attempt(2, "timeout", null, "n4"));
		},
		/went on after its end/,
	],
	[
		"a 503 ends a delivery at once",
		({ approved }) => {
			approved.state = "failed";
			approved.finishedAtMs = 900_000;
			approved.queued = null;
		},
		/the state is what the last attempt makes it/,
	],
	[
		"an attempt is shown of which nobody can know anything",
		({ approved }) => appendAttempt(approved, attempt(2, "interrupted", null, null)),
		/of which nothing is known/,
	],
	[
		"something due was not sent",
		({ approved }) => {
			approved.queued = { ...QUEUED, dueAtMs: QUIET_AT_MS };
		},
		/due and was not sent/,
	],
	[
		"something waits without ever having been tried",
		({ approved, arrivals }) => {
			approved.log = [];
			approved.attempts = 0;
			approved.queued = { ...QUEUED, counted: 0, seq: 0 };
			arrivals.pop();
		},
		/nothing was tried/,
	],
	[
		"an event comes again although nothing hit it",
		({ arrivals, approved }) => arrivals.push(arrival(approved.key, "n4", 503)),
		/1 arrivals are not in its log, and 0 kills hit it/,
	],
	[
		"an event comes more often than it was hit",
		({ arrivals, recorded }) => arrivals.unshift(arrival(recorded.key, "n0", 204, 0)),
		/2 arrivals are not in its log, and 1 kills hit it/,
	],
	[
		"an event comes again, and the kill was before both",
		({ arrivals, recorded }) => arrivals.splice(0, 1, arrival(recorded.key, "n1", 204)),
		/1 arrivals are not in its log, and 1 kills hit it, not all behind them/,
	],
	[
		"an event comes again that was not in the hands of whom the kill hit",
		({ kills, approved }) => kills.splice(0, 1, { atMs: KILLED_AT_MS, keys: new Set([approved.key]) }),
		/1 arrivals are not in its log, and 0 kills hit it/,
	],
	[
		"an event comes again after it was taken",
		({ arrivals }) => arrivals.reverse(),
		/it came again after 204/,
	],
	[
		"a nonce comes twice",
		({ arrivals, recorded }) => arrivals.unshift(arrival(recorded.key, "n2", 204)),
		/no nonce comes twice/,
	],
	[
		"something arrives that nobody is owed",
		({ arrivals }) => arrivals.push(arrival("cnv_x conversion.recorded", "n9", 204)),
		/owed to nobody/,
	],
	[
		"a request is in the log and never arrived",
		({ arrivals }) => arrivals.pop(),
		/n3 is in its log and never/,
	],
	[
		"the log shows another answer than the shop gave",
		({ arrivals, approved }) => arrivals.splice(2, 1, arrival(approved.key, "n3", 502)),
		/n3 was answered otherwise/,
	],
];

describe("a ledger that does not balance is found out", () => {
	for (const [title, plant, finding] of DEFECTS) {
		test(`when ${title}`, () => {
			const draft = makeSoundRound();
			plant(draft);
			throws(() => check(draft), { message: finding });
		});
	}
});
