import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { dueDelivery } from "../../test/support/rows.ts";
import { slotOf } from "../domain/slot.ts";
import type { DueDelivery } from "../store/queries/queue.ts";
import { type Caps, SendBuffer } from "./send-buffer.ts";
import { findIdleSlots } from "./slots.ts";
import type { KnownTarget } from "./targets.ts";

const CAPS: Caps = { perProgramme: 2, overall: 100 };
const FAST_MS = 10;
const SLOW_MS = 1_000;
const hasRoom = () => true;

function hold(buffer: SendBuffer, programmeId: number, count: number): DueDelivery[] {
	const held = Array.from({ length: count }, () => dueDelivery({ programmeId }));
	for (const delivery of held) buffer.add(delivery);
	return held;
}

/** What went out, in its order. */
function send(buffer: SendBuffer, mayGo = hasRoom): DueDelivery[] {
	const sent: DueDelivery[] = [];
	buffer.sendReady((delivery) => sent.push(delivery), mayGo);
	return sent;
}

const programmes = (deliveries: readonly DueDelivery[]) => deliveries.map(({ programmeId }) => programmeId);

function land(buffer: SendBuffer, deliveries: readonly DueDelivery[], tookMs: number | null): void {
	for (const delivery of deliveries) buffer.endRequest(delivery, tookMs);
}

/** How much each may get, in that order. */
function limitsOf(buffer: SendBuffer, ...due: readonly number[]): [programmeId: number, limit: number][] {
	return buffer.limitsFor(due).map(({ programmeId, limit }) => [programmeId, limit]);
}

describe("what goes out", () => {
	test("of a lane is at most its cap in flight, and what lands makes room for as much", () => {
		const buffer = new SendBuffer(CAPS);
		hold(buffer, 1, 5);
		const sent = send(buffer);
		equal(sent.length, 2);
		hold(buffer, 2, 1);
		deepEqual(programmes(send(buffer)), [2], "a full lane sends nothing, and holds up nobody else");
		land(buffer, sent.slice(1), SLOW_MS);
		equal(send(buffer).length, 1);
		deepEqual([buffer.inFlight, buffer.waitingOrInFlight], [3, 5]);
	});

	test("is at most the overall cap together, and takes turns, however much waits in one lane", () => {
		const buffer = new SendBuffer({ perProgramme: 8, overall: 2 });
		hold(buffer, 1, 1_000);
		hold(buffer, 2, 2);
		hold(buffer, 3, 2);
		const order = Array.from({ length: 3 }, () => {
			const sent = send(buffer);
			land(buffer, sent, FAST_MS);
			return programmes(sent);
		});
		deepEqual(order, [
			[1, 2],
			[3, 1],
			[2, 3],
		]);
	});

	test("without room is nothing, and that it waits is told", () => {
		const buffer = new SendBuffer(CAPS);
		hold(buffer, 1, 2);
		const isAllSent = (mayGo: () => boolean) => buffer.sendReady(() => undefined, mayGo);
		deepEqual([isAllSent(() => false), buffer.inFlight], [false, 0]);
		deepEqual([isAllSent(hasRoom), buffer.inFlight], [true, 2]);
	});
});

describe("what is read ahead", () => {
	test("is what can go out at once for an unknown shop, more for a fast one, no more than that for a slow one", () => {
		const buffer = new SendBuffer(CAPS);
		deepEqual(limitsOf(buffer, 1), [[1, 2]]);
		hold(buffer, 1, 2);
		const [first, second] = send(buffer);
		ok(first && second);
		deepEqual(limitsOf(buffer, 1), [], "its lane is full");
		buffer.endRequest(first, FAST_MS);
		const [[, ahead = 0] = []] = limitsOf(buffer, 1);
		ok(ahead > CAPS.perProgramme, "one commit serves many");
		hold(buffer, 1, 1);
		land(buffer, send(buffer), null);
		deepEqual(limitsOf(buffer, 1), [[1, ahead]], "what was not sent after all says nothing of its speed");
		buffer.endRequest(second, SLOW_MS);
		deepEqual(limitsOf(buffer, 1), [[1, 2]]);
	});

	test("fills a fast shop's lane up when half of what it may have is left, and not row by row", () => {
		const buffer = new SendBuffer(CAPS);
		hold(buffer, 1, 1);
		land(buffer, send(buffer), FAST_MS);
		const [[, most = 0] = []] = limitsOf(buffer, 1);
		hold(buffer, 1, most);
		for (let landed = 0; buffer.waitingProgrammeIds().length > 0; landed++) {
			const left = most - landed;
			const expected = left > most / 2 ? [] : [[1, most - left]];
			deepEqual(limitsOf(buffer, 1), expected, `${left} left of ${most}`);
			const sent = send(buffer, () => buffer.inFlight === 0);
			land(buffer, sent, FAST_MS);
		}
	});

	test("is an even share where many buffer are due, and each gets something", () => {
		const buffer = new SendBuffer({ perProgramme: 1_000, overall: 10_000 });
		const due = Array.from({ length: 3_000 }, (_, index) => index + 1);
		const limits = limitsOf(buffer, ...due).map(([, limit]) => limit);
		equal(limits.length, 3_000);
		ok(Math.max(...limits) - Math.min(...limits) <= 1, "an even share");
		hold(buffer, 1, 10_000);
		deepEqual(limitsOf(buffer, ...due), [], "when too much is in hand nothing more is handed out");
	});

	test("among many due buffer fills one up when half of its share is left", () => {
		const buffer = new SendBuffer({ perProgramme: 1_000, overall: 10_000 });
		const due = Array.from({ length: 1_024 }, (_, index) => index + 1);
		const share = 8;
		hold(buffer, 1, share / 2 + 1);
		hold(buffer, 2, share / 2);
		const [[first] = [], [second] = []] = limitsOf(buffer, ...due);
		deepEqual([first, second], [2, 3]);
	});
});

describe("a sale straight from its transaction", () => {
	const known = (readAtMs: number): KnownTarget => {
		return { endpointEpoch: 0, target: null, readAtMs, learnedAtMs: readAtMs };
	};

	test("is taken where there is room and its lane was not read since, and never twice", () => {
		const buffer = new SendBuffer({ perProgramme: 2, overall: 1 });
		const delivery = dueDelivery();
		equal(buffer.addUnread(delivery, known(500)), true);
		equal(buffer.targetOf(1)?.readAtMs, 500);
		equal(buffer.addUnread(delivery, known(501)), false, "it is in hand");
		buffer.noteRead(1, 600);
		deepEqual(
			[600, 601].map((atMs) => buffer.addUnread(dueDelivery(), known(atMs))),
			[false, true],
		);
		equal(buffer.addUnread(dueDelivery(), known(700)), false, "a full lane");
		land(buffer, send(buffer), FAST_MS);
		equal(buffer.addUnread(dueDelivery(), known(700)), true);
		hold(buffer, 2, 8_190);
		equal(buffer.addUnread(dueDelivery({ programmeId: 3 }), known(700)), false, "too much in all");
	});

	test("is not taken when its target has changed since, and what was known of it is forgotten", () => {
		const buffer = new SendBuffer(CAPS);
		buffer.setTarget(1, known(100));
		buffer.dropTarget(1, 200);
		equal(buffer.targetOf(1), null);
		deepEqual(
			[200, 201].map((atMs) => buffer.addUnread(dueDelivery(), known(atMs))),
			[false, true],
		);
	});
});

test("the targets of what waits are read again when they grow old", () => {
	const buffer = new SendBuffer(CAPS);
	hold(buffer, 1, 1);
	buffer.setTarget(1, { endpointEpoch: 0, target: null, readAtMs: 90, learnedAtMs: 100 });
	buffer.setTarget(2, { endpointEpoch: 0, target: null, readAtMs: 0, learnedAtMs: 0 });
	deepEqual([buffer.programmesWithOldTarget(100), buffer.programmesWithOldTarget(101)], [[], [1]]);
});

describe("what is in hand", () => {
	test("stays so until its result is stored, and keeps its slot busy", () => {
		const buffer = new SendBuffer(CAPS);
		const [delivery] = hold(buffer, 65, 1);
		ok(delivery);
		land(buffer, send(buffer), FAST_MS);
		deepEqual(
			[
				buffer.waitingOrInFlight,
				buffer.isInProgress(delivery),
				findIdleSlots([slotOf(65)], buffer.busyProgrammeIds()),
			],
			[0, true, []],
		);
		equal(buffer.isInProgress({ ...delivery }), false, "the same row, read anew");
		buffer.release(delivery);
		deepEqual(
			[
				buffer.isInProgress(delivery),
				buffer.inProgress(65)?.size,
				findIdleSlots([slotOf(65)], buffer.busyProgrammeIds()),
			],
			[false, 0, [slotOf(65)]],
		);
	});

	test("and waits can be dropped, of the buffer that are meant; what is in flight remains", () => {
		const buffer = new SendBuffer(CAPS);
		const held = hold(buffer, 1, 5);
		hold(buffer, 2, 3);
		hold(buffer, 3, 2);
		const sent = send(buffer);
		deepEqual(
			[...buffer.waitingSince()],
			[
				[1, 0],
				[2, 0],
			],
		);
		buffer.releaseWaiting((programmeId) => programmeId !== 2);
		deepEqual(
			[buffer.waitingProgrammeIds(), buffer.waitingOrInFlight, buffer.inProgress(1)?.size],
			[[2], 7, 2],
		);
		equal(held.filter((delivery) => buffer.isInProgress(delivery)).length, 2);
		land(buffer, sent, FAST_MS);
		deepEqual([programmes(send(buffer)), buffer.waitingOrInFlight], [[2], 1]);
	});
});

describe("dropped slots", () => {
	test("that come back begin anew, also when they were dropped while they waited for room", () => {
		const buffer = new SendBuffer(CAPS);
		hold(buffer, 1, 1);
		buffer.forgetSlots(new Set([slotOf(1)]));
		const [first, ...others] = hold(buffer, 1, 3);
		equal(send(buffer).length, 2);
		deepEqual(buffer.waitingProgrammeIds(), [1], "the third");
		buffer.forgetSlots(new Set([slotOf(1)]));
		ok(first);
		deepEqual(
			[buffer.waitingOrInFlight, buffer.isInProgress(first)],
			[2, false],
			"what is in flight counts until it has landed",
		);
		hold(buffer, 1, 1);
		deepEqual(send(buffer), []);
		land(buffer, [first, ...others.slice(1)], FAST_MS);
		equal(send(buffer).length, 1);
	});

	test("take what was learned of their shops with them", () => {
		const buffer = new SendBuffer(CAPS);
		for (const programmeId of [1, 2]) hold(buffer, programmeId, 1);
		land(buffer, send(buffer), FAST_MS);
		buffer.forgetSlots(new Set([slotOf(1)]));
		const [[, dropped = 0] = [], [, kept = 0] = []] = limitsOf(buffer, 1, 2);
		equal(dropped, CAPS.perProgramme, "unknown again");
		ok(kept > CAPS.perProgramme, "known to be fast");
	});
});
