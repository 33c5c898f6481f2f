// What each pass is to do, and what the engine learns from it.

import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { delivered, dueDelivery } from "../../test/support/rows.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { DueDelivery, Others } from "../store/queue.ts";
import { newCounters } from "./counters.ts";
import { Lanes } from "./lanes.ts";
import type { PassInput, PassOutput } from "./pass.ts";
import { Planner } from "./planner.ts";
import { Targets } from "./targets.ts";

const NOW_MS = 10_000_000;
const ALONE: Others = { count: 0, held: 0, hasLapsed: false, waiting: 0, waitingSinceMs: null };

function setUp() {
	const log = createLog();
	const lanes = new Lanes({ perProgramme: 8, overall: 64 });
	const counters = newCounters();
	const planner = new Planner({ lanes, targets: new Targets(new Uint8Array(32), log), counters, log });
	const lease = { engineId: 1, renewedAtMs: NOW_MS - MINUTE_MS };

	function plan(nowMs: number): PassInput {
		const input = planner.plan(lease, nowMs);
		if (input === null) throw new Error("there was nothing to do");
		return input;
	}

	/** What a pass does with the store, whose queue holds `due`; `change` is what else comes out of it. */
	function run(input: PassInput, due: readonly DueDelivery[], change: Partial<PassOutput> = {}): PassOutput {
		const leased = change.leased ?? null;
		const requests = input.requestsFor(change.gone ?? [], leased?.receiverIds ?? []);
		const asked = new Set(requests.map(({ receiverId }) => receiverId));
		const output: PassOutput = {
			settled: new Set(input.settlements),
			begun: { transaction: 100, endedBelow: 100 },
			lanesBefore: null,
			others: input.renewal === null ? null : ALONE,
			leased,
			choice: input.choose(requests, {
				deliveries: due.filter(({ receiverId }) => asked.has(receiverId)),
				nextDue: [],
			}),
			targets: [],
			shut: input.shut,
			gone: [],
			hasNotice: false,
			...change,
		};
		if (input.renewal !== null) lease.renewedAtMs = input.nowMs;
		planner.learn(input, output);
		for (const delivery of output.choice.deliveries) lanes.takeInHand(delivery);
		return output;
	}

	/** All that waits is sent and answered. */
	function answerAll(): void {
		const sent: DueDelivery[] = [];
		lanes.sendReady((delivery) => sent.push(delivery));
		for (const delivery of sent) {
			lanes.land(delivery.receiverId, 300);
			planner.keep(delivered(delivery));
		}
	}

	/** It has these lanes, and has found nothing due in them. */
	function leaseLanes(...receiverIds: number[]): void {
		run(plan(NOW_MS), [], { leased: { receiverIds, nextDueAtMs: null } });
	}

	return { planner, lanes, counters, lease, log, plan, run, answerAll, leaseLanes };
}

test("the first pass renews and looks for lanes; with nothing to do there is none until the next renewal", () => {
	const { planner, lease, plan, run } = setUp();
	const input = plan(NOW_MS);
	deepEqual(input.renewal, { goodUntilMs: NOW_MS + 30_000, held: 0 });
	deepEqual(input.lease, { limit: 512, dueBeforeMs: NOW_MS });
	run(input, [], { leased: { receiverIds: [], nextDueAtMs: null } });
	equal(planner.isAlone, true);
	equal(planner.plan(lease, NOW_MS + 4_999), null);
	equal(planner.nextPassInMs(lease, NOW_MS + 4_000), 1_000);
	ok(plan(NOW_MS + 5_000).renewal !== null);
});

describe("when lanes are looked for again", () => {
	const cases: readonly [title: string, leased: number, nextDueAtMs: number | null, inMs: number][] = [
		["at once, when as many were leased as a pass takes", 512, NOW_MS + 60_000, 0],
		["when the next that is nobody's falls due", 3, NOW_MS + 700, 700],
		["with the next renewal, when there is none", 0, null, 5_000],
	];
	for (const [title, leased, nextDueAtMs, inMs] of cases) {
		test(title, () => {
			const { planner, lease, plan, run } = setUp();
			const receiverIds = Array.from({ length: leased }, (_, n) => n + 1);
			run(plan(NOW_MS), [], { leased: { receiverIds, nextDueAtMs } });
			equal(planner.heldLanes, leased);
			equal(planner.nextPassInMs(lease, NOW_MS), inMs);
			ok(plan(NOW_MS + inMs).lease !== null);
		});
	}

	test("at once, when something is announced that is not held here; it is told to the others", () => {
		const { planner, plan, leaseLanes } = setUp();
		leaseLanes(1);
		deepEqual(planner.announce([1, 2], NOW_MS), [2]);
		ok(plan(NOW_MS).lease !== null);
	});

	test("not when all that is announced is held here", () => {
		const { planner, plan, leaseLanes } = setUp();
		leaseLanes(1);
		deepEqual(planner.announce([1], NOW_MS), []);
		equal(plan(NOW_MS).lease, null);
	});
});

describe("with other engines", () => {
	const ids = Array.from({ length: 10 }, (_, n) => n + 1);
	const due = ids.map((receiverId) => dueDelivery({ receiverId, dueAtMs: NOW_MS }));

	/** It has ten lanes and one delivery of each in hand, and another engine has come. */
	function meet() {
		const setup = setUp();
		const others = { ...ALONE, count: 1 };
		setup.run(setup.plan(NOW_MS), due, { leased: { receiverIds: ids, nextDueAtMs: null }, others });
		return setup;
	}

	test("lanes that are too many leave when nothing of them is in hand, and not before", () => {
		const { planner, lanes, plan, run, answerAll } = meet();
		equal(planner.isAlone, false);
		deepEqual(planner.startLeaving(), [6, 7, 8, 9, 10]);
		planner.announce(ids, NOW_MS);
		const busy = plan(NOW_MS);
		deepEqual(busy.leaving, []);
		deepEqual(
			busy.requestsFor([], []).map(({ receiverId }) => receiverId),
			[2, 3, 4, 5, 1],
			"nothing more is read of those that leave",
		);
		run(busy, []);
		// One is given back, the others are sent.
		for (const delivery of lanes.takeWaiting([6]))
			planner.keep({ kind: "released", delivery, dueAtMs: NOW_MS });
		answerAll();
		const storing = plan(NOW_MS + 1);
		deepEqual(storing.leaving, [], "its results are not stored yet");
		run(storing, []);
		equal(planner.nextPassInMs({ engineId: 1, renewedAtMs: NOW_MS }, NOW_MS + 1), 0);
		const leaving = plan(NOW_MS + 2);
		deepEqual(leaving.leaving, [6, 7, 8, 9, 10]);
		run(leaving, [], { gone: leaving.leaving, others: { ...ALONE, count: 1, held: 5 } });
		equal(planner.heldLanes, 5);
		deepEqual(planner.startLeaving(), [], "they are even now");
	});

	test("one with more than its share leases only what the others have left; all lease less at once", () => {
		const { plan } = meet();
		deepEqual(plan(NOW_MS + 5_000).lease, { limit: 256, dueBeforeMs: NOW_MS + 5_000 - 2_000 });
	});

	test("when they are gone it keeps what it has, and takes everything", () => {
		const { planner, plan, run } = meet();
		run(plan(NOW_MS + 5_000), []);
		deepEqual([planner.isAlone, planner.startLeaving()], [true, []]);
		deepEqual(plan(NOW_MS + 10_000).lease, { limit: 512, dueBeforeMs: NOW_MS + 10_000 });
	});
});

describe("what is in hand", () => {
	const first = dueDelivery({ receiverId: 1, dueAtMs: NOW_MS - 2 });
	const second = dueDelivery({ receiverId: 1, dueAtMs: NOW_MS - 1 });

	function handOut() {
		const setup = setUp();
		const input = setup.plan(NOW_MS);
		setup.run(input, [first, second], { leased: { receiverIds: [1], nextDueAtMs: null } });
		setup.answerAll();
		return { ...setup, handout: input.handout };
	}

	test("is settled with the next pass, and its handout ends with the last of it", () => {
		const { plan, run, counters, handout } = handOut();
		const input = plan(NOW_MS + 1);
		deepEqual(
			input.settlements.map(({ delivery }) => delivery),
			[first, second],
		);
		deepEqual(input.endedHandouts, [handout]);
		run(input, []);
		deepEqual([counters.finished.delivered, counters.lateResults], [2, 0]);
	});

	test("is settled again when the pass failed, under another number, and what was in doubt is read", () => {
		const { planner, log, plan, run, handout } = handOut();
		const lost = plan(NOW_MS + 1);
		equal(lost.isInDoubt, false);
		planner.putBack(lost, NOW_MS + 1);
		const input = plan(NOW_MS + 2);
		deepEqual([input.isInDoubt, input.settlements], [true, lost.settlements]);
		deepEqual(input.endedHandouts, [lost.handout, handout]);
		ok(input.handout > lost.handout);
		// It had been stored after all: then it is not in the queue any more, and that is no defect.
		run(input, [], { settled: new Set(), lanesBefore: [1] });
		equal(log.text().includes("not in the queue"), false);
		equal(planner.plan({ engineId: 1, renewedAtMs: NOW_MS }, NOW_MS + 3)?.isInDoubt ?? false, false);
	});

	test("and is not in the queue although nothing was in doubt, is loudly logged", () => {
		const { log, plan, run } = handOut();
		run(plan(NOW_MS + 1), [], { settled: new Set() });
		equal(log.text().match(/a delivery in hand was not in the queue any more/g)?.length, 2);
	});

	test("is void when the lease is lost: the results are late, and numbers go on", () => {
		const { planner, counters, plan } = handOut();
		planner.putBack(plan(NOW_MS + 1), NOW_MS + 1);
		const lost = plan(NOW_MS + 1);
		planner.voidAll(lost.settlements);
		deepEqual([counters.lateResults, planner.heldLanes], [2, 0]);
		planner.keep(delivered(first));
		const input = plan(NOW_MS + 2);
		deepEqual([input.settlements, input.endedHandouts], [[], []]);
		ok(input.handout > lost.handout);
		equal(counters.lateResults, 3, "it came after the lease was lost");
	});

	test("and was given back, is looked for with the pass after the one that stores it", () => {
		const { planner, lanes, lease, plan, run } = setUp();
		run(plan(NOW_MS), [first], { leased: { receiverIds: [1], nextDueAtMs: null } });
		for (const delivery of lanes.takeWaiting([1]))
			planner.keep({ kind: "released", delivery, dueAtMs: NOW_MS });
		// It is in the queue again, but in hand until this is stored.
		const again = { ...first, dueAtMs: NOW_MS };
		deepEqual(run(plan(NOW_MS + 1), [again]).choice.deliveries, []);
		equal(planner.nextPassInMs(lease, NOW_MS + 1), 0);
		deepEqual(run(plan(NOW_MS + 1), [again]).choice.deliveries, [again]);
	});
});

test("an idle lane is shut, looked at again, and let go when the store says so", () => {
	const { planner, lease, plan, run, leaseLanes } = setUp();
	leaseLanes(1);
	equal(planner.plan(lease, NOW_MS + 4_999), null);
	const shutting = plan(NOW_MS + 5_000);
	deepEqual([shutting.shut, shutting.shutBefore], [[1], []]);
	run(shutting, []);
	equal(planner.nextPassInMs(lease, NOW_MS + 5_000), 1_000);
	const second = plan(NOW_MS + 6_000);
	deepEqual([second.shut, second.shutBefore], [[], [{ receiverId: 1, fence: null }]]);
	run(second, [], { begun: { transaction: 101, endedBelow: 90 } });
	const third = plan(NOW_MS + 7_000);
	deepEqual(third.shutBefore, [{ receiverId: 1, fence: 101 }], "it waits for all that had begun before");
	run(third, [], { begun: { transaction: 105, endedBelow: 100 } });
	const last = plan(NOW_MS + 8_000);
	deepEqual(last.shutBefore, [{ receiverId: 1, fence: 101 }], "and for none that began later");
	run(last, [], { gone: [1] });
	equal(planner.heldLanes, 0);
});

test("the last pass gives every lane away", () => {
	const { planner, lease, leaseLanes } = setUp();
	leaseLanes(3, 1);
	const { leaving, isLast, lease: request } = planner.planLast(lease, NOW_MS);
	deepEqual([leaving, isLast, request], [[3, 1], true, null]);
});
