import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import type { ClaimedDelivery } from "../store/queue.ts";
import { type Caps, type Lane, Lanes } from "./lanes.ts";

const CAPS: Caps = { perProgramme: 2, overall: 100 };
const NOW_MS = 1_000_000;
const FAST_MS = 10;
const SLOW_MS = 1_000;

let lastId = 0;

function claimed(programmeId: number): ClaimedDelivery {
	return {
		id: ++lastId,
		programmeId,
		claim: 1,
		claimedAtMs: 0,
		endpointEpoch: 0,
		run: 1,
		counted: 0,
		seq: 0,
		eventName: "conversion.recorded",
		eventBody: "{}",
	};
}

function hold(lanes: Lanes, programmeId: number, count: number): void {
	for (let index = 0; index < count; index++) lanes.hold(claimed(programmeId));
}

/** The lanes of what went out, in its order. */
function send(lanes: Lanes, hasRoom?: () => boolean): Lane[] {
	const sent: Lane[] = [];
	lanes.sendReady((lane) => sent.push(lane), hasRoom);
	return sent;
}

/** How much each may claim, in the order of the wishes. */
function limitsOf(lanes: Lanes, due: readonly number[]): [programmeId: number, limit: number][] {
	return lanes.wishes(due, NOW_MS).map(({ programmeId, limit }) => [programmeId, limit]);
}

const idsOf = (sent: readonly Lane[]) => sent.map(({ programmeId }) => programmeId);

test("a lane has at most its cap in flight, and what lands makes room for as much", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 5);
	const [first, second, ...others] = send(lanes);
	equal(others.length, 0);
	ok(first !== undefined && second === first);
	deepEqual(send(lanes), [], "a full lane sends nothing");
	lanes.land(first, SLOW_MS);
	deepEqual(idsOf(send(lanes)), [1]);
	deepEqual([lanes.inFlight, lanes.held], [2, 4]);
});

test("a full lane holds up nobody else", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 50);
	send(lanes);
	hold(lanes, 2, 1);
	deepEqual(idsOf(send(lanes)), [2]);
});

test("all lanes together have at most the overall cap in flight", () => {
	const lanes = new Lanes({ perProgramme: 2, overall: 3 });
	for (const programmeId of [1, 2, 3]) hold(lanes, programmeId, 2);
	deepEqual(idsOf(send(lanes)), [1, 2, 3]);
	equal(lanes.inFlight, 3);
});

test("a lane with many waiting does not starve others when the overall cap binds", () => {
	const lanes = new Lanes({ perProgramme: 8, overall: 1 });
	hold(lanes, 1, 1_000);
	hold(lanes, 2, 2);
	hold(lanes, 3, 2);
	const order: number[] = [];
	for (let turn = 0; turn < 6; turn++) {
		const [lane] = send(lanes);
		ok(lane !== undefined);
		order.push(lane.programmeId);
		lanes.land(lane, FAST_MS);
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
	const [lane] = send(lanes);
	ok(lane !== undefined);
	deepEqual(limitsOf(lanes, [1]), [], "its lane is full");
	lanes.land(lane, FAST_MS);
	const [[, ahead] = []] = limitsOf(lanes, [1]);
	ok(ahead !== undefined && ahead > CAPS.perProgramme, "one commit serves many");
	lanes.land(lane, SLOW_MS);
	deepEqual(limitsOf(lanes, [1]), [[1, 2]]);
});

test("what was not sent after all says nothing about the shop's speed", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 2);
	const [lane] = send(lanes);
	ok(lane !== undefined);
	lanes.land(lane, FAST_MS);
	const before = lane.lastTookMs;
	lanes.land(lane, null);
	equal(lane.lastTookMs, before);
});

test("however many programmes are due, each may claim something, and none the others' share", () => {
	const lanes = new Lanes({ perProgramme: 1_000, overall: 10_000 });
	const due = Array.from({ length: 3_000 }, (_, index) => index + 1);
	const limits = limitsOf(lanes, due).map(([, limit]) => limit);
	equal(limits.length, 3_000);
	ok(Math.max(...limits) - Math.min(...limits) <= 1, "an even share");
	hold(lanes, 1, 100_000);
	deepEqual(limitsOf(lanes, due), [], "when too much is held nothing more is claimed");
});

test("what waits can be given back, and only what is in flight remains", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 5);
	hold(lanes, 2, 1);
	const sent = send(lanes);
	equal(lanes.takeWaiting().length, 3);
	equal(lanes.held, 3);
	for (const lane of sent) lanes.land(lane, FAST_MS);
	deepEqual([lanes.inFlight, lanes.held, send(lanes).length], [0, 0, 0]);
});

test("idle lanes are forgotten; busy and failing ones are not", () => {
	const lanes = new Lanes(CAPS);
	const [idle, waiting, flying, failing] = [1, 2, 3, 4];
	lanes.lane(idle);
	lanes.lane(failing).isFailing = true;
	hold(lanes, flying, 1);
	send(lanes);
	hold(lanes, waiting, 1);
	lanes.forgetIdle();
	const kept = [idle, waiting, flying, failing].filter((id) => lanes.find(id) !== undefined);
	deepEqual(kept, [waiting, flying, failing]);
	deepEqual(lanes.failingProgrammeIds(), new Set([failing]));
});

test("where a lane's requests go is read at first and again after a second", () => {
	const lanes = new Lanes(CAPS);
	const skipsTarget = (nowMs: number) => lanes.wishes([1], nowMs)[0]?.skipsTarget;
	equal(skipsTarget(NOW_MS), false, "nothing is known yet");
	lanes.lane(1).targetReadAtMs = NOW_MS;
	equal(skipsTarget(NOW_MS + 999), true);
	equal(skipsTarget(NOW_MS + 1_000), false);
});

test("what waits has its target read a second after the last time, whatever passes come between", () => {
	const lanes = new Lanes(CAPS);
	equal(lanes.targetsKeepForMs(NOW_MS), Number.POSITIVE_INFINITY, "nothing waits");
	hold(lanes, 1, 1);
	hold(lanes, 2, 1);
	lanes.lane(1).targetReadAtMs = NOW_MS;
	lanes.lane(2).targetReadAtMs = NOW_MS + 300;
	equal(lanes.targetsKeepForMs(NOW_MS + 900), 100, "the oldest decides");
	equal(lanes.targetsKeepForMs(NOW_MS + 1_000), 0);
	equal(lanes.targetsKeepForMs(NOW_MS - 5), 0, "the clock was set back: it is not known how old it is");
});
