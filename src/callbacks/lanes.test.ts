import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { dueDelivery } from "../../test/support/rows.ts";
import { slotOf } from "../domain/slot.ts";
import type { DueDelivery } from "../store/queries/queue.ts";
import { type Caps, Lanes } from "./lanes.ts";
import type { KnownTarget } from "./targets.ts";

const CAPS: Caps = { perProgramme: 2, overall: 100 };
const FAST_MS = 10;
const SLOW_MS = 1_000;
const hasRoom = () => true;

function hold(lanes: Lanes, programmeId: number, count: number): DueDelivery[] {
	const held = Array.from({ length: count }, () => dueDelivery({ programmeId }));
	for (const delivery of held) lanes.take(delivery);
	return held;
}

/** What went out, in its order. */
function send(lanes: Lanes, mayGo = hasRoom): DueDelivery[] {
	const sent: DueDelivery[] = [];
	lanes.sendReady((delivery) => sent.push(delivery), mayGo);
	return sent;
}

const programmes = (deliveries: readonly DueDelivery[]) => deliveries.map(({ programmeId }) => programmeId);

function land(lanes: Lanes, deliveries: readonly DueDelivery[], tookMs: number | null): void {
	for (const delivery of deliveries) lanes.land(delivery, tookMs);
}

/** How much each may get, in that order. */
function limitsOf(lanes: Lanes, ...due: readonly number[]): [programmeId: number, limit: number][] {
	return lanes.limitsFor(due).map(({ programmeId, limit }) => [programmeId, limit]);
}

describe("what goes out", () => {
	test("of a lane is at most its cap in flight, and what lands makes room for as much", () => {
		const lanes = new Lanes(CAPS);
		hold(lanes, 1, 5);
		const sent = send(lanes);
		equal(sent.length, 2);
		hold(lanes, 2, 1);
		deepEqual(programmes(send(lanes)), [2], "a full lane sends nothing, and holds up nobody else");
		land(lanes, sent.slice(1), SLOW_MS);
		equal(send(lanes).length, 1);
		deepEqual([lanes.inFlight, lanes.underWay], [3, 5]);
	});

	test("is at most the overall cap together, and takes turns, however much waits in one lane", () => {
		const lanes = new Lanes({ perProgramme: 8, overall: 2 });
		hold(lanes, 1, 1_000);
		hold(lanes, 2, 2);
		hold(lanes, 3, 2);
		const order = Array.from({ length: 3 }, () => {
			const sent = send(lanes);
			land(lanes, sent, FAST_MS);
			return programmes(sent);
		});
		deepEqual(order, [
			[1, 2],
			[3, 1],
			[2, 3],
		]);
	});

	test("without room is nothing, and that it waits is told", () => {
		const lanes = new Lanes(CAPS);
		hold(lanes, 1, 2);
		const isAllSent = (mayGo: () => boolean) => lanes.sendReady(() => undefined, mayGo);
		deepEqual([isAllSent(() => false), lanes.inFlight], [false, 0]);
		deepEqual([isAllSent(hasRoom), lanes.inFlight], [true, 2]);
	});
});

describe("what is read ahead", () => {
	test("is what can go out at once for an unknown shop, more for a fast one, no more than that for a slow one", () => {
		const lanes = new Lanes(CAPS);
		deepEqual(limitsOf(lanes, 1), [[1, 2]]);
		hold(lanes, 1, 2);
		const [first, second] = send(lanes);
		ok(first && second);
		deepEqual(limitsOf(lanes, 1), [], "its lane is full");
		lanes.land(first, FAST_MS);
		const [[, ahead = 0] = []] = limitsOf(lanes, 1);
		ok(ahead > CAPS.perProgramme, "one commit serves many");
		hold(lanes, 1, 1);
		land(lanes, send(lanes), null);
		deepEqual(limitsOf(lanes, 1), [[1, ahead]], "what was not sent after all says nothing of its speed");
		lanes.land(second, SLOW_MS);
		deepEqual(limitsOf(lanes, 1), [[1, 2]]);
	});

	test("fills a fast shop's lane up when half of what it may have is left, and not row by row", () => {
		const lanes = new Lanes(CAPS);
		hold(lanes, 1, 1);
		land(lanes, send(lanes), FAST_MS);
		const [[, most = 0] = []] = limitsOf(lanes, 1);
		hold(lanes, 1, most);
		for (let landed = 0; lanes.waitingProgrammeIds().length > 0; landed++) {
			const left = most - landed;
			const expected = left > most / 2 ? [] : [[1, most - left]];
			deepEqual(limitsOf(lanes, 1), expected, `${left} left of ${most}`);
			const sent = send(lanes, () => lanes.inFlight === 0);
			land(lanes, sent, FAST_MS);
		}
	});

	test("is an even share where many lanes are due, and each gets something", () => {
		const lanes = new Lanes({ perProgramme: 1_000, overall: 10_000 });
		const due = Array.from({ length: 3_000 }, (_, index) => index + 1);
		const limits = limitsOf(lanes, ...due).map(([, limit]) => limit);
		equal(limits.length, 3_000);
		ok(Math.max(...limits) - Math.min(...limits) <= 1, "an even share");
		hold(lanes, 1, 10_000);
		deepEqual(limitsOf(lanes, ...due), [], "when too much is in hand nothing more is handed out");
	});

	test("among many due lanes fills one up when half of its share is left", () => {
		const lanes = new Lanes({ perProgramme: 1_000, overall: 10_000 });
		const due = Array.from({ length: 1_024 }, (_, index) => index + 1);
		const share = 8;
		hold(lanes, 1, share / 2 + 1);
		hold(lanes, 2, share / 2);
		const [[first] = [], [second] = []] = limitsOf(lanes, ...due);
		deepEqual([first, second], [2, 3]);
	});
});

describe("a sale straight from its transaction", () => {
	const known = (readAtMs: number): KnownTarget => {
		return { endpointEpoch: 0, target: null, readAtMs, learnedAtMs: readAtMs };
	};

	test("is taken where there is room and its lane was not read since, and never twice", () => {
		const lanes = new Lanes({ perProgramme: 2, overall: 1 });
		const delivery = dueDelivery();
		equal(lanes.takeUnread(delivery, known(500)), true);
		equal(lanes.targetOf(1)?.readAtMs, 500);
		equal(lanes.takeUnread(delivery, known(501)), false, "it is in hand");
		lanes.noteRead(1, 600);
		deepEqual(
			[600, 601].map((atMs) => lanes.takeUnread(dueDelivery(), known(atMs))),
			[false, true],
		);
		equal(lanes.takeUnread(dueDelivery(), known(700)), false, "a full lane");
		land(lanes, send(lanes), FAST_MS);
		equal(lanes.takeUnread(dueDelivery(), known(700)), true);
		hold(lanes, 2, 8_190);
		equal(lanes.takeUnread(dueDelivery({ programmeId: 3 }), known(700)), false, "too much in all");
	});

	test("is not taken when its target has changed since, and what was known of it is forgotten", () => {
		const lanes = new Lanes(CAPS);
		lanes.noteTarget(1, known(100));
		lanes.noteChange(1, 200);
		equal(lanes.targetOf(1), null);
		deepEqual(
			[200, 201].map((atMs) => lanes.takeUnread(dueDelivery(), known(atMs))),
			[false, true],
		);
	});
});

test("the targets of what waits are read again when they grow old", () => {
	const lanes = new Lanes(CAPS);
	hold(lanes, 1, 1);
	lanes.noteTarget(1, { endpointEpoch: 0, target: null, readAtMs: 90, learnedAtMs: 100 });
	lanes.noteTarget(2, { endpointEpoch: 0, target: null, readAtMs: 0, learnedAtMs: 0 });
	deepEqual([lanes.agingProgrammeIds(100), lanes.agingProgrammeIds(101)], [[], [1]]);
});

describe("what is in hand", () => {
	test("stays so until its result is stored, and keeps its slot busy", () => {
		const lanes = new Lanes(CAPS);
		const [delivery] = hold(lanes, 65, 1);
		ok(delivery);
		land(lanes, send(lanes), FAST_MS);
		deepEqual([lanes.underWay, lanes.isInHand(delivery), lanes.idleOf([slotOf(65)])], [0, true, []]);
		equal(lanes.isInHand({ ...delivery }), false, "the same row, read anew");
		lanes.putDown(delivery);
		deepEqual(
			[lanes.isInHand(delivery), lanes.inHand(65)?.size, lanes.idleOf([slotOf(65)])],
			[false, 0, [slotOf(65)]],
		);
	});

	test("and waits can be dropped, of the lanes that are meant; what is in flight remains", () => {
		const lanes = new Lanes(CAPS);
		const held = hold(lanes, 1, 5);
		hold(lanes, 2, 3);
		hold(lanes, 3, 2);
		const sent = send(lanes);
		deepEqual(
			[...lanes.waitingSince()],
			[
				[1, 0],
				[2, 0],
			],
		);
		lanes.dropWaiting((programmeId) => programmeId !== 2);
		deepEqual([lanes.waitingProgrammeIds(), lanes.underWay, lanes.inHand(1)?.size], [[2], 7, 2]);
		equal(held.filter((delivery) => lanes.isInHand(delivery)).length, 2);
		land(lanes, sent, FAST_MS);
		deepEqual([programmes(send(lanes)), lanes.underWay], [[2], 1]);
	});
});

describe("dropped slots", () => {
	test("that come back begin anew, also when they were dropped while they waited for room", () => {
		const lanes = new Lanes(CAPS);
		hold(lanes, 1, 1);
		lanes.drop(new Set([slotOf(1)]));
		const [first, ...others] = hold(lanes, 1, 3);
		equal(send(lanes).length, 2);
		deepEqual(lanes.waitingProgrammeIds(), [1], "the third");
		lanes.drop(new Set([slotOf(1)]));
		ok(first);
		deepEqual(
			[lanes.underWay, lanes.isInHand(first)],
			[2, false],
			"what is in flight counts until it has landed",
		);
		hold(lanes, 1, 1);
		deepEqual(send(lanes), []);
		land(lanes, [first, ...others.slice(1)], FAST_MS);
		equal(send(lanes).length, 1);
	});

	test("take what was learned of their shops with them", () => {
		const lanes = new Lanes(CAPS);
		for (const programmeId of [1, 2]) hold(lanes, programmeId, 1);
		land(lanes, send(lanes), FAST_MS);
		lanes.drop(new Set([slotOf(1)]));
		const [[, dropped = 0] = [], [, kept = 0] = []] = limitsOf(lanes, 1, 2);
		equal(dropped, CAPS.perProgramme, "unknown again");
		ok(kept > CAPS.perProgramme, "known to be fast");
	});
});
