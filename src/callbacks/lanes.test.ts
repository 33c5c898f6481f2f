import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { dueDelivery } from "../../test/support/rows.ts";
import { type Caps, Lanes } from "./lanes.ts";

const CAPS: Caps = { perProgramme: 2, overall: 100 };
const FAST_MS = 10;
const SLOW_MS = 1_000;

function hold(lanes: Lanes, receiverId: number, count: number): void {
	for (let index = 0; index < count; index++) lanes.takeInHand(dueDelivery({ receiverId }));
}

/** The receivers of what went out, in its order. */
function send(lanes: Lanes, hasRoom?: () => boolean): number[] {
	const sent: number[] = [];
	lanes.sendReady(({ receiverId }) => sent.push(receiverId), hasRoom);
	return sent;
}

/** How much each may get, in that order. */
function limitsOf(lanes: Lanes, due: readonly number[]): [receiverId: number, limit: number][] {
	return lanes.limitsFor(due).map(({ receiverId, limit }) => [receiverId, limit]);
}

test("a lane has at most its cap in flight, and what lands makes room for as much", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 5);
	deepEqual(send(lanes), [1, 1]);
	deepEqual(send(lanes), [], "a full lane sends nothing");
	lanes.land(1, SLOW_MS);
	deepEqual(send(lanes), [1]);
	deepEqual([lanes.inFlight, lanes.inHand], [2, 4]);
});

test("a full lane holds up nobody else", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 50);
	send(lanes);
	hold(lanes, 2, 1);
	deepEqual(send(lanes), [2]);
});

test("all lanes together have at most the overall cap in flight", () => {
	const lanes = new Lanes({ perProgramme: 2, overall: 3 });
	for (const receiverId of [1, 2, 3]) hold(lanes, receiverId, 2);
	deepEqual(send(lanes), [1, 2, 3]);
	equal(lanes.inFlight, 3);
});

test("a lane with many waiting does not starve others when the overall cap binds", () => {
	const lanes = new Lanes({ perProgramme: 8, overall: 1 });
	hold(lanes, 1, 1_000);
	hold(lanes, 2, 2);
	hold(lanes, 3, 2);
	const order: number[] = [];
	for (let round = 0; round < 6; round++) {
		const [receiverId] = send(lanes);
		ok(receiverId !== undefined);
		order.push(receiverId);
		lanes.land(receiverId, FAST_MS);
	}
	deepEqual(order, [1, 2, 3, 1, 2, 3]);
});

test("what has no room waits and is told of", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 2);
	equal(
		lanes.sendReady(
			() => undefined,
			() => false,
		),
		false,
	);
	equal(lanes.inFlight, 0);
	equal(
		lanes.sendReady(() => undefined),
		true,
	);
	equal(lanes.inFlight, 2);
});

test("an unknown shop gets what can go out at once, a fast one more ahead, a slow one no more than that", () => {
	const lanes = new Lanes(CAPS);
	deepEqual(limitsOf(lanes, [1]), [[1, 2]]);
	hold(lanes, 1, 2);
	send(lanes);
	deepEqual(limitsOf(lanes, [1]), [], "its lane is full");
	lanes.land(1, FAST_MS);
	const [[, ahead] = []] = limitsOf(lanes, [1]);
	ok(ahead !== undefined && ahead > CAPS.perProgramme, "one commit serves many");
	lanes.land(1, SLOW_MS);
	deepEqual(limitsOf(lanes, [1]), [[1, 2]]);
});

test("a fast shop's lane is filled up when half of what it may have is left, and not row by row", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 1);
	send(lanes);
	lanes.land(1, FAST_MS);
	const [[, most = 0] = []] = limitsOf(lanes, [1]);
	hold(lanes, 1, most);
	for (let landed = 0; lanes.waitingReceiverIds().length > 0; landed++) {
		const left = most - landed;
		const expected = left > most / 2 ? [] : [[1, most - left]];
		deepEqual(limitsOf(lanes, [1]), expected, `${left} left of ${most}`);
		lanes.sendReady(
			() => undefined,
			() => lanes.inFlight === 0,
		);
		lanes.land(1, FAST_MS);
	}
});

test("among many due lanes, one is filled up when half of its share is left", () => {
	const lanes = new Lanes({ perProgramme: 1_000, overall: 10_000 });
	const due = Array.from({ length: 1_024 }, (_, index) => index + 1);
	const share = 8;
	hold(lanes, 1, share / 2 + 1);
	hold(lanes, 2, share / 2);
	deepEqual(
		limitsOf(lanes, due)
			.map(([receiverId]) => receiverId)
			.slice(0, 2),
		[2, 3],
	);
});

test("what was not sent after all says nothing about the shop's speed", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 2);
	send(lanes);
	lanes.land(1, FAST_MS);
	const [[, before = 0] = []] = limitsOf(lanes, [1]);
	lanes.land(1, null);
	deepEqual(limitsOf(lanes, [1]), [[1, before + 1]], "still a fast one, with room for one more");
});

test("however many lanes are due, each may get something, and none the others' share", () => {
	const lanes = new Lanes({ perProgramme: 1_000, overall: 10_000 });
	const due = Array.from({ length: 3_000 }, (_, index) => index + 1);
	const limits = limitsOf(lanes, due).map(([, limit]) => limit);
	equal(limits.length, 3_000);
	ok(Math.max(...limits) - Math.min(...limits) <= 1, "an even share");
	hold(lanes, 1, 100_000);
	deepEqual(limitsOf(lanes, due), [], "when too much is in hand nothing more is handed out");
});

test("what waits can be given back, and only what is in flight remains", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 5);
	hold(lanes, 2, 1);
	const sent = send(lanes);
	equal(lanes.takeWaiting([1, 2]).length, 3);
	equal(lanes.inHand, 3);
	for (const receiverId of sent) lanes.land(receiverId, FAST_MS);
	deepEqual([lanes.inFlight, lanes.inHand, send(lanes).length], [0, 0, 0]);
});

test("idle lanes are forgotten with what was learned of their shops; busy ones are not", () => {
	const lanes = new Lanes(CAPS);
	const [idle, busy] = [1, 2];
	for (const receiverId of [idle, busy]) {
		hold(lanes, receiverId, 1);
		send(lanes);
		lanes.land(receiverId, FAST_MS);
	}
	hold(lanes, busy, 1);
	lanes.forgetIdle([idle, busy, 99]);
	const [[, ofIdle = 0] = [], [, ofBusy = 0] = []] = limitsOf(lanes, [idle, busy]);
	equal(ofIdle, CAPS.perProgramme, "unknown again");
	ok(ofBusy > CAPS.perProgramme, "known to be fast");
});

test("receivers with something that waits are told, and not those with everything in flight", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 2);
	send(lanes);
	hold(lanes, 2, 3);
	send(lanes);
	deepEqual(lanes.waitingReceiverIds(), [2]);
});
