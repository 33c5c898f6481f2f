import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { dueDelivery } from "../../../test/support/rows.ts";
import { slotOf } from "../domain/slot.ts";
import type { DueDelivery } from "../store/queries/queue.ts";
import { type Caps, SendBuffer } from "./send-buffer.ts";
import { findIdleSlots } from "./slots.ts";
import type { TargetReading } from "./targets.ts";

const CAPS: Caps = { perReceiver: 2, overall: 100 };
const FAST_MS = 10;
const SLOW_MS = 1_000;
const hasRoom = () => true;

function fill(buffer: SendBuffer, receiver: number, count: number): DueDelivery[] {
	const held = Array.from({ length: count }, () => dueDelivery({ receiverId: receiverId(receiver) }));
	for (const delivery of held) buffer.add(delivery);
	return held;
}

/** Sends all deliveries that may be sent now, and returns them in order. */
function send(buffer: SendBuffer, mayGo = hasRoom): DueDelivery[] {
	const sent: DueDelivery[] = [];
	buffer.sendReady((delivery) => sent.push(delivery), mayGo);
	return sent;
}

const receivers = (deliveries: readonly DueDelivery[]) => deliveries.map(({ receiverId }) => receiverId);

function endRequests(buffer: SendBuffer, deliveries: readonly DueDelivery[], tookMs: number | null): void {
	for (const delivery of deliveries) buffer.endRequest(delivery, tookMs);
}

/** Returns how many deliveries to read for each receiver, in the order in which the receivers take turns. */
function limitsOf(buffer: SendBuffer, ...due: readonly number[]): [receiverId: number, limit: number][] {
	return buffer.limitsFor(due.map(receiverId)).map((due) => [due.receiverId, due.limit]);
}

describe("sending", () => {
	test("stops at the receiver's cap, and each request that ends makes room for another", () => {
		const buffer = new SendBuffer(CAPS);
		fill(buffer, 1, 5);
		const sent = send(buffer);
		equal(sent.length, 2);
		fill(buffer, 2, 1);
		deepEqual(receivers(send(buffer)), [2], "a full receiver sends nothing, and delays no other");
		endRequests(buffer, sent.slice(1), SLOW_MS);
		equal(send(buffer).length, 1);
		deepEqual([buffer.inFlight, buffer.waitingOrInFlight], [3, 5]);
	});

	test("stops at the overall cap, and receivers take turns, however many deliveries one of them has", () => {
		const buffer = new SendBuffer({ perReceiver: 8, overall: 2 });
		fill(buffer, 1, 1_000);
		fill(buffer, 2, 2);
		fill(buffer, 3, 2);
		const order = Array.from({ length: 3 }, () => {
			const sent = send(buffer);
			endRequests(buffer, sent, FAST_MS);
			return receivers(sent);
		});
		deepEqual(order, [
			[1, 2],
			[3, 1],
			[2, 3],
		]);
	});

	test("stops if there is no room, and returns that a delivery waits", () => {
		const buffer = new SendBuffer(CAPS);
		fill(buffer, 1, 2);
		const isAllSent = (mayGo: () => boolean) => buffer.sendReady(() => undefined, mayGo);
		deepEqual([isAllSent(() => false), buffer.inFlight], [false, 0]);
		deepEqual([isAllSent(hasRoom), buffer.inFlight], [true, 2]);
	});
});

describe("the number of deliveries to read", () => {
	test("is the cap for an unknown shop and for a slow one, and more for a fast one", () => {
		const buffer = new SendBuffer(CAPS);
		deepEqual(limitsOf(buffer, 1), [[1, 2]]);
		fill(buffer, 1, 2);
		const [first, second] = send(buffer);
		ok(first && second);
		deepEqual(limitsOf(buffer, 1), [], "its queue is full");
		buffer.endRequest(first, FAST_MS);
		const [[, ahead = 0] = []] = limitsOf(buffer, 1);
		ok(ahead > CAPS.perReceiver, "one commit serves many");
		fill(buffer, 1, 1);
		endRequests(buffer, send(buffer), null);
		deepEqual(
			limitsOf(buffer, 1),
			[[1, ahead]],
			"a delivery that was not sent says nothing about the shop's speed",
		);
		buffer.endRequest(second, SLOW_MS);
		deepEqual(limitsOf(buffer, 1), [[1, 2]]);
	});

	test("refills the queue of a fast shop when it is half empty, and not row by row", () => {
		const buffer = new SendBuffer(CAPS);
		fill(buffer, 1, 1);
		endRequests(buffer, send(buffer), FAST_MS);
		const [[, most = 0] = []] = limitsOf(buffer, 1);
		fill(buffer, 1, most);
		for (let landed = 0; buffer.waitingReceiverIds().length > 0; landed++) {
			const left = most - landed;
			const expected = left > most / 2 ? [] : [[1, most - left]];
			deepEqual(limitsOf(buffer, 1), expected, `${left} left of ${most}`);
			const sent = send(buffer, () => buffer.inFlight === 0);
			endRequests(buffer, sent, FAST_MS);
		}
	});

	test("is an even share if many receivers are due, and at least one each", () => {
		const buffer = new SendBuffer({ perReceiver: 1_000, overall: 10_000 });
		const due = Array.from({ length: 3_000 }, (_, index) => index + 1);
		const limits = limitsOf(buffer, ...due).map(([, limit]) => limit);
		equal(limits.length, 3_000);
		ok(Math.max(...limits) - Math.min(...limits) <= 1, "an even share");
		fill(buffer, 1, 10_000);
		deepEqual(limitsOf(buffer, ...due), [], "nothing is read if the buffer is full");
	});

	test("refills a queue when it holds half of its even share, if many receivers are due", () => {
		const buffer = new SendBuffer({ perReceiver: 1_000, overall: 10_000 });
		const due = Array.from({ length: 1_024 }, (_, index) => index + 1);
		const share = 8;
		fill(buffer, 1, share / 2 + 1);
		fill(buffer, 2, share / 2);
		const [[first] = [], [second] = []] = limitsOf(buffer, ...due);
		deepEqual([first, second], [2, 3]);
	});
});

describe("a sale straight from its transaction", () => {
	const readingAt = (readAtMs: number): TargetReading => {
		return { endpointEpoch: 0, target: null, readAtMs, learnedAtMs: readAtMs };
	};

	test("is added if there is room and its receiver was not read since, and never twice", () => {
		const buffer = new SendBuffer({ perReceiver: 2, overall: 1 });
		const delivery = dueDelivery();
		equal(buffer.addUnread(delivery, readingAt(500)), true);
		equal(buffer.targetOf(receiverId(1))?.readAtMs, 500);
		equal(buffer.addUnread(delivery, readingAt(501)), false, "it is in progress");
		buffer.noteRead(receiverId(1), 600);
		deepEqual(
			[600, 601].map((atMs) => buffer.addUnread(dueDelivery(), readingAt(atMs))),
			[false, true],
		);
		equal(buffer.addUnread(dueDelivery(), readingAt(700)), false, "the receiver's queue is full");
		endRequests(buffer, send(buffer), FAST_MS);
		equal(buffer.addUnread(dueDelivery(), readingAt(700)), true);
		fill(buffer, 2, 8_190);
		equal(
			buffer.addUnread(dueDelivery({ receiverId: receiverId(3) }), readingAt(700)),
			false,
			"the buffer is full",
		);
	});

	test("is not added if its target has changed since, and the old target is forgotten", () => {
		const buffer = new SendBuffer(CAPS);
		buffer.setTarget(receiverId(1), readingAt(100));
		buffer.dropTarget(receiverId(1), 200);
		equal(buffer.targetOf(receiverId(1)), null);
		deepEqual(
			[200, 201].map((atMs) => buffer.addUnread(dueDelivery(), readingAt(atMs))),
			[false, true],
		);
	});
});

test("a suspended machine's monotonic clock stands still, so all targets are dropped, and one with the same time replaces them", () => {
	const buffer = new SendBuffer(CAPS);
	const old = { endpointEpoch: 0, target: null, readAtMs: 100, learnedAtMs: 100 };
	const read = { ...old, endpointEpoch: 1 };
	buffer.setTarget(receiverId(1), old);
	buffer.dropTargets();
	equal(buffer.targetOf(receiverId(1)), null);
	buffer.setTarget(receiverId(1), read);
	equal(buffer.targetOf(receiverId(1)), read);
});

test("targets of waiting deliveries are read again when they are old", () => {
	const buffer = new SendBuffer(CAPS);
	fill(buffer, 1, 1);
	buffer.setTarget(receiverId(1), { endpointEpoch: 0, target: null, readAtMs: 90, learnedAtMs: 100 });
	buffer.setTarget(receiverId(2), { endpointEpoch: 0, target: null, readAtMs: 0, learnedAtMs: 0 });
	deepEqual([buffer.receiversWithOldTarget(100), buffer.receiversWithOldTarget(101)], [[], [1]]);
});

describe("a delivery in progress", () => {
	test("stays in progress until it is released, and keeps its slot from being given up", () => {
		const buffer = new SendBuffer(CAPS);
		const [delivery] = fill(buffer, 65, 1);
		ok(delivery);
		endRequests(buffer, send(buffer), FAST_MS);
		deepEqual(
			[
				buffer.waitingOrInFlight,
				buffer.isInProgress(delivery),
				findIdleSlots([slotOf(receiverId(65))], buffer.busyReceiverIds()),
			],
			[0, true, []],
		);
		equal(buffer.isInProgress({ ...delivery }), false, "the same row, read again");
		buffer.release(delivery);
		deepEqual(
			[
				buffer.isInProgress(delivery),
				buffer.inProgress(receiverId(65))?.size,
				findIdleSlots([slotOf(receiverId(65))], buffer.busyReceiverIds()),
			],
			[false, 0, [slotOf(receiverId(65))]],
		);
	});

	test("that waits can be released for chosen receivers, and requests in flight remain", () => {
		const buffer = new SendBuffer(CAPS);
		const held = fill(buffer, 1, 5);
		fill(buffer, 2, 3);
		fill(buffer, 3, 2);
		const sent = send(buffer);
		deepEqual(
			[...buffer.waitingSince()],
			[
				[1, 0],
				[2, 0],
			],
		);
		buffer.releaseWaiting((id) => id !== 2);
		deepEqual(
			[buffer.waitingReceiverIds(), buffer.waitingOrInFlight, buffer.inProgress(receiverId(1))?.size],
			[[2], 7, 2],
		);
		equal(held.filter((delivery) => buffer.isInProgress(delivery)).length, 2);
		endRequests(buffer, sent, FAST_MS);
		deepEqual([receivers(send(buffer)), buffer.waitingOrInFlight], [[2], 1]);
	});
});

describe("forgotten slots", () => {
	test("start again if they come back, even if they were forgotten while deliveries waited for room", () => {
		const buffer = new SendBuffer(CAPS);
		fill(buffer, 1, 1);
		buffer.forgetSlots(new Set([slotOf(receiverId(1))]));
		const [first, ...others] = fill(buffer, 1, 3);
		equal(send(buffer).length, 2);
		deepEqual(buffer.waitingReceiverIds(), [1], "the third");
		buffer.forgetSlots(new Set([slotOf(receiverId(1))]));
		ok(first);
		deepEqual(
			[buffer.waitingOrInFlight, buffer.isInProgress(first)],
			[2, false],
			"a request in flight counts until it ends",
		);
		fill(buffer, 1, 1);
		deepEqual(send(buffer), []);
		endRequests(buffer, [first, ...others.slice(1)], FAST_MS);
		equal(send(buffer).length, 1);
	});

	test("lose what was learned about the speed of their shops", () => {
		const buffer = new SendBuffer(CAPS);
		for (const receiver of [1, 2]) fill(buffer, receiver, 1);
		endRequests(buffer, send(buffer), FAST_MS);
		buffer.forgetSlots(new Set([slotOf(receiverId(1))]));
		const [[, dropped = 0] = [], [, kept = 0] = []] = limitsOf(buffer, 1, 2);
		equal(dropped, CAPS.perReceiver, "unknown again");
		ok(kept > CAPS.perReceiver, "known to be fast");
	});
});
