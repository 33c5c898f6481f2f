// What an engine knows of the lanes it has leased: how far each was read, what of it is in hand, when it is idle.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { dueDelivery } from "../../test/support/rows.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { DueDelivery } from "../store/queue.ts";
import { HeldLanes } from "./held-lanes.ts";

const NOW_MS = 10_000_000;
const LANE = 7;
const FRONT = { afterDueAtMs: -1, afterId: 0 };

interface Look {
	wanted: number;
	/** What is in the queue and due, in order. */
	queue: readonly DueDelivery[];
	nextDueAtMs?: number | null;
	atMs?: number;
	handout?: number;
}

/** One look at the lane, as a pass does it: what was asked for, and what was handed out. */
function look(held: HeldLanes, { wanted, queue, nextDueAtMs = null, atMs = NOW_MS, handout = 1 }: Look) {
	held.startRound();
	const requests = held.requestsFor([{ receiverId: LANE, limit: wanted }], atMs);
	const [{ afterDueAtMs = 0, afterId = 0, limit = 0 } = {}] = requests;
	const isBehind = ({ dueAtMs, id }: DueDelivery) =>
		dueAtMs > afterDueAtMs || (dueAtMs === afterDueAtMs && id > afterId);
	const deliveries = queue.filter(isBehind).slice(0, limit);
	const nextDue = deliveries.length < limit ? [{ receiverId: LANE, dueAtMs: nextDueAtMs }] : [];
	const choice = held.choose(requests, { deliveries, nextDue }, atMs);
	held.learn([], choice, handout, atMs);
	return { after: { afterDueAtMs, afterId }, limit, ids: choice.deliveries.map(({ id }) => id) };
}

function lease(atMs: number = NOW_MS): HeldLanes {
	const held = new HeldLanes();
	held.learn([LANE], { deliveries: [], looks: [] }, 0, atMs);
	return held;
}

/** Due a minute ago and later, a second apart: nothing commits that late any more. */
const old = (id: number): DueDelivery =>
	dueDelivery({ id, receiverId: LANE, dueAtMs: NOW_MS - MINUTE_MS + id * 1_000 });

describe("the place up to which a lane was read", () => {
	const queue = [1, 2, 3, 4, 5].map(old);

	test("is where the next read begins, and what is in hand is not read again", () => {
		const held = lease();
		deepEqual(look(held, { wanted: 2, queue }), { after: FRONT, limit: 2, ids: [1, 2] });
		deepEqual(look(held, { wanted: 2, queue }), {
			after: { afterDueAtMs: NOW_MS - MINUTE_MS + 2_000, afterId: 2 },
			limit: 2,
			ids: [3, 4],
		});
	});

	test("is where the last look ended while more is due, young as it may be; a late commit is found after it", () => {
		const held = lease();
		const young = [1, 2, 3].map((id) => dueDelivery({ id, receiverId: LANE, dueAtMs: NOW_MS - 10 + id }));
		const late = dueDelivery({ id: 4, receiverId: LANE, dueAtMs: NOW_MS - 9_000 });
		deepEqual(look(held, { wanted: 2, queue: young }).ids, [1, 2]);
		deepEqual(look(held, { wanted: 2, queue: [late, ...young] }), {
			after: { afterDueAtMs: NOW_MS - 8, afterId: 2 },
			limit: 2,
			ids: [3],
		});
		deepEqual(look(held, { wanted: 2, queue: [late, ...young] }).ids, [4]);
	});

	test("is ten seconds before the look that read all: what is committed late is found in order", () => {
		const held = lease();
		const young = [1, 2].map((id) => dueDelivery({ id, receiverId: LANE, dueAtMs: NOW_MS - id }));
		deepEqual(look(held, { wanted: 8, queue: young }).ids, [1, 2]);
		const late = dueDelivery({ id: 3, receiverId: LANE, dueAtMs: NOW_MS - 9_000 });
		// It asks for two more than it wants, because those two are in hand and lie in its way.
		deepEqual(look(held, { wanted: 1, queue: [late, ...young] }), {
			after: { afterDueAtMs: NOW_MS - 10_000, afterId: Number.MAX_SAFE_INTEGER },
			limit: 3,
			ids: [3],
		});
	});

	test("stops at what was handed out, when more was read than was wanted", () => {
		const held = lease();
		look(held, { wanted: 1, queue: queue.slice(2, 3) });
		// Two came up before the one in hand; one of them is wanted.
		held.learn([], { deliveries: [], looks: [front()] }, 2, NOW_MS);
		deepEqual(look(held, { wanted: 1, queue }).ids, [1]);
		deepEqual(look(held, { wanted: 1, queue }).ids, [2]);
		deepEqual(look(held, { wanted: 2, queue }).ids, [4, 5]);
	});

	test("is the front again once a minute, leaving out what is in hand", () => {
		const held = lease();
		look(held, { wanted: 3, queue });
		const behind = dueDelivery({ id: 9, receiverId: LANE, dueAtMs: NOW_MS - 2 * MINUTE_MS });
		const present = [behind, ...queue];
		deepEqual(look(held, { wanted: 1, queue: present, atMs: NOW_MS + MINUTE_MS - 1 }).ids, [4]);
		deepEqual(look(held, { wanted: 1, queue: present, atMs: NOW_MS + MINUTE_MS }), {
			after: FRONT,
			limit: 5,
			ids: [9],
		});
		// Up to the last that was read: it is in hand.
		equal(look(held, { wanted: 1, queue: present, atMs: NOW_MS + MINUTE_MS + 1 }).after.afterId, 4);
	});

	test("is the front at once when the clock was set back", () => {
		const held = lease();
		look(held, { wanted: 8, queue });
		const backMs = NOW_MS - 60 * MINUTE_MS;
		const sale = dueDelivery({ id: 9, receiverId: LANE, dueAtMs: backMs });
		deepEqual(look(held, { wanted: 1, queue: [sale], atMs: backMs }).ids, [9]);
		const next = dueDelivery({ id: 10, receiverId: LANE, dueAtMs: backMs + 1 });
		deepEqual(look(held, { wanted: 1, queue: [sale, next], atMs: backMs + 1 }).ids, [10]);
	});

	const front = () => ({
		receiverId: LANE,
		after: { dueAtMs: -1, id: 0 },
		hasMore: true,
		dueAtMs: NOW_MS,
		found: 0,
	});
});

describe("what is in hand", () => {
	test("is exactly what was handed out, until it is put down", () => {
		const held = lease();
		const [first, second] = [old(1), old(2)];
		look(held, { wanted: 1, queue: [first, second], handout: 4 });
		look(held, { wanted: 1, queue: [first, second], handout: 5 });
		deepEqual([held.handoutOf(first), held.handoutOf(second)], [4, 5]);
		held.putDown(first, NOW_MS);
		deepEqual([held.handoutOf(first), held.handoutOf(second)], [undefined, 5]);
	});

	test("is told from an earlier time the same delivery was in hand", () => {
		const held = lease();
		const before = old(1);
		look(held, { wanted: 1, queue: [before], handout: 1 });
		held.putDown(before, NOW_MS);
		const again = { ...before, dueAtMs: before.dueAtMs + 1 };
		look(held, { wanted: 1, queue: [again], handout: 2 });
		deepEqual([held.handoutOf(before), held.handoutOf(again)], [undefined, 2]);
	});

	test("is void when the lane is dropped, or leased anew", () => {
		const held = lease();
		const delivery = old(1);
		look(held, { wanted: 1, queue: [delivery] });
		held.drop([LANE]);
		equal(held.handoutOf(delivery), undefined);
		held.learn([LANE], { deliveries: [], looks: [] }, 2, NOW_MS);
		equal(held.handoutOf(delivery), undefined);
	});

	test("stays with the lanes that the store says it has, and with no others", () => {
		const held = lease();
		const delivery = old(1);
		look(held, { wanted: 1, queue: [delivery], handout: 3 });
		held.correct([LANE, 8], NOW_MS);
		deepEqual([held.ids(), held.handoutOf(delivery)], [[LANE, 8], 3]);
		deepEqual(look(held, { wanted: 1, queue: [delivery] }).ids, [], "it is in hand");
		held.correct([8], NOW_MS);
		deepEqual([held.ids(), held.handoutOf(delivery)], [[8], undefined]);
	});
});

describe("when a lane is looked at", () => {
	const cases: readonly [title: string, found: Omit<Look, "wanted">, nextAtMs: number][] = [
		["when its next row falls due", { queue: [], nextDueAtMs: NOW_MS + 900 }, NOW_MS + 900],
		["after five seconds, when nothing is known", { queue: [] }, NOW_MS + 5_000],
		["after five seconds, when it is due later", { queue: [], nextDueAtMs: NOW_MS + 60_000 }, NOW_MS + 5_000],
	];
	for (const [title, found, nextAtMs] of cases) {
		test(title, () => {
			const held = lease();
			look(held, { wanted: 1, ...found });
			deepEqual([held.due(NOW_MS), held.nextAfter(NOW_MS)], [[], nextAtMs]);
			deepEqual([held.due(nextAtMs - 1), held.due(nextAtMs)], [[], [LANE]]);
		});
	}

	test("at once, when it has more than was read", () => {
		const held = lease();
		look(held, { wanted: 1, queue: [old(1), old(2)] });
		deepEqual(held.due(NOW_MS), [LANE]);
	});

	test("at once, when something was announced while the pass was under way", () => {
		const held = lease();
		held.startRound();
		const requests = held.requestsFor([{ receiverId: LANE, limit: 1 }], NOW_MS);
		const choice = held.choose(requests, { deliveries: [], nextDue: [] }, NOW_MS);
		deepEqual(held.announce([LANE, 8], NOW_MS), [8]);
		held.learn([], choice, 1, NOW_MS);
		deepEqual(held.due(NOW_MS), [LANE]);
		look(held, { wanted: 1, queue: [] });
		deepEqual(held.due(NOW_MS), []);
	});

	test("each round begins with another lane", () => {
		const held = new HeldLanes();
		held.learn([1, 2, 3], { deliveries: [], looks: [] }, 0, NOW_MS);
		const rounds = Array.from({ length: 3 }, () => {
			held.startRound();
			return held.due(NOW_MS);
		});
		deepEqual(rounds, [
			[2, 3, 1],
			[3, 1, 2],
			[1, 2, 3],
		]);
	});
});

describe("an idle lane", () => {
	const QUIET_MS = NOW_MS + 5_000;

	/** The lane was just looked at, and nothing was due. */
	function quiet(atMs: number, nextDueAtMs: number | null = null): HeldLanes {
		const held = lease();
		look(held, { wanted: 1, queue: [], nextDueAtMs, atMs });
		return held;
	}

	const cases: readonly [title: string, held: HeldLanes, atMs: number, isIdle: boolean][] = [
		["stays for five seconds", quiet(QUIET_MS - 1), QUIET_MS - 1, false],
		["is shut after that", quiet(QUIET_MS), QUIET_MS, true],
		["stays when its next row is near", quiet(QUIET_MS, QUIET_MS + 5_000), QUIET_MS, false],
		["is shut when its next row is far", quiet(QUIET_MS, QUIET_MS + 5_001), QUIET_MS, true],
	];
	for (const [title, held, atMs, isIdle] of cases) {
		test(title, () => deepEqual(held.idle(atMs), isIdle ? [LANE] : []));
	}

	test("is none while something of it is in hand, and five seconds from then", () => {
		const held = lease();
		const delivery = old(1);
		look(held, { wanted: 8, queue: [delivery] });
		deepEqual(held.idle(QUIET_MS + MINUTE_MS), []);
		held.putDown(delivery, QUIET_MS);
		deepEqual([held.idle(QUIET_MS + 4_999), held.idle(QUIET_MS + 5_000)], [[], [LANE]]);
	});

	test("is none when something was just announced", () => {
		const held = quiet(QUIET_MS);
		held.announce([LANE], QUIET_MS);
		deepEqual(held.idle(QUIET_MS), []);
	});

	test("has its first look once, and a fence from the pass after it", () => {
		const held = quiet(QUIET_MS);
		held.noteShut(held.idle(QUIET_MS));
		deepEqual(held.idle(QUIET_MS), []);
		deepEqual(held.shutLanes(QUIET_MS), [{ receiverId: LANE, fence: null }]);
		held.noteFence(LANE, 33);
		deepEqual(held.shutLanes(QUIET_MS), [{ receiverId: LANE, fence: 33 }]);
	});

	test("is open again when something is found before the second look", () => {
		const held = quiet(QUIET_MS);
		held.noteShut([LANE]);
		held.noteFence(LANE, 33);
		const sale = dueDelivery({ receiverId: LANE, dueAtMs: QUIET_MS });
		look(held, { wanted: 8, queue: [sale], atMs: QUIET_MS });
		held.putDown(sale, QUIET_MS);
		deepEqual([held.shutLanes(QUIET_MS + 5_000), held.idle(QUIET_MS + 5_000)], [[], [LANE]]);
	});

	test("waits with its second look for what was announced since the first", () => {
		const held = quiet(QUIET_MS);
		held.noteShut([LANE]);
		held.announce([LANE], QUIET_MS);
		deepEqual(held.shutLanes(QUIET_MS), []);
		look(held, { wanted: 1, queue: [], atMs: QUIET_MS });
		deepEqual(held.shutLanes(QUIET_MS), [{ receiverId: LANE, fence: null }], "there was nothing after all");
	});
});

describe("lanes that leave for another engine", () => {
	test("as many as are too many, those included that leave already", () => {
		const held = new HeldLanes();
		held.learn([1, 2, 3, 4], { deliveries: [], looks: [] }, 0, NOW_MS);
		deepEqual(held.startLeaving(2), [3, 4]);
		deepEqual(held.startLeaving(2), []);
		deepEqual(held.startLeaving(3), [2]);
		deepEqual(held.due(NOW_MS), [1]);
	});

	test("go only when nothing of them is in hand, and nothing more is handed out until then", () => {
		const held = lease();
		const delivery = old(1);
		look(held, { wanted: 1, queue: [delivery, old(2)] });
		held.startLeaving(1);
		deepEqual([held.readyToLeave(), held.due(NOW_MS), held.idle(NOW_MS + MINUTE_MS)], [[], [], []]);
		held.putDown(delivery, NOW_MS);
		deepEqual([held.readyToLeave(), held.due(NOW_MS)], [[LANE], []]);
	});
});
