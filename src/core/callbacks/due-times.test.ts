import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { dueDelivery } from "../../../test/support/rows.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import { SLOTS, slotOf } from "../domain/slot.ts";
import type { DueDelivery } from "../store/queries/queue.ts";
import { DueTimes, type ReceiverRead } from "./due-times.ts";

const SHOP = receiverId(7);

function setUp() {
	const queue: DueDelivery[] = [];
	const deliveriesOf = new Map<ReceiverId, Map<number, DueDelivery>>();
	const inProgress = (receiverId: ReceiverId) =>
		deliveriesOf.getOrInsertComputed(receiverId, () => new Map<number, DueDelivery>());
	const dueTimes = new DueTimes(inProgress);
	const sorted = () => queue.toSorted((a, b) => a.dueAtMs - b.dueAtMs || a.id - b.id);
	const ask = (wanted = 10, receiverId = SHOP): ReceiverRead => {
		const [request] = dueTimes.beginReads([{ receiverId, limit: wanted }]);
		if (request === undefined) throw new Error("one request for each");
		return request;
	};
	/** Reads the queue as the store does. Returns the due times of the deliveries to send. */
	const answer = (request: ReceiverRead, nowMs: number): number[] => {
		const { receiverId, afterDueAtMs, afterId, limit } = request;
		const rows = sorted().filter((row) => row.receiverId === receiverId);
		const isBehind = ({ dueAtMs, id }: DueDelivery) =>
			dueAtMs > afterDueAtMs || (dueAtMs === afterDueAtMs && id > afterId);
		const found = rows.filter((row) => row.dueAtMs <= nowMs && isBehind(row)).slice(0, limit);
		const next = rows.find(({ dueAtMs }) => dueAtMs > nowMs)?.dueAtMs ?? null;
		const deliveries = dueTimes.finishRead(request, found, found.length < limit ? next : null, nowMs);
		for (const row of deliveries) {
			equal(inProgress(receiverId).has(row.id), false, "no delivery is returned twice");
			inProgress(receiverId).set(row.id, row);
		}
		return deliveries.map(({ dueAtMs }) => dueAtMs);
	};
	return {
		dueTimes,
		/** Adds a row to the queue without a notification. */
		commit(dueAtMs: number, receiverId = SHOP): DueDelivery {
			const row = dueDelivery({ receiverId, dueAtMs });
			queue.push(row);
			return row;
		},
		ask,
		answer,
		read: (nowMs: number, wanted?: number, receiverId?: ReceiverId) => answer(ask(wanted, receiverId), nowMs),
		/** Reads the first due row of each receiver, as the engine does after a missed notification. */
		noteFirstRows(nowMs: number): number {
			const firsts = new Map<ReceiverId, DueDelivery>();
			for (const row of sorted()) firsts.getOrInsert(row.receiverId, row);
			return dueTimes.noteFirstRows([...firsts.values()], nowMs);
		},
		inProgress: inProgress(SHOP),
	};
}

describe("a noted due time", () => {
	test("makes the receiver due at the earliest noted time, and not before", () => {
		const { dueTimes } = setUp();
		dueTimes.note(SHOP, 200);
		dueTimes.note(SHOP, 100);
		dueTimes.note(SHOP, 300);
		deepEqual([dueTimes.due(99), dueTimes.nextAtMs, dueTimes.dueAtMs(SHOP)], [[], 100, 100]);
		deepEqual([dueTimes.due(100), dueTimes.nextAtMs], [[SHOP], Number.POSITIVE_INFINITY]);
		equal(dueTimes.dueAtMs(receiverId(8)), Number.POSITIVE_INFINITY, "nothing is known of another receiver");
	});

	test("after the rows that were read continues there, and the next row is due later", () => {
		const { dueTimes, commit, ask, answer, read } = setUp();
		commit(100);
		commit(900);
		dueTimes.note(SHOP, 100);
		deepEqual(read(150), [100]);
		deepEqual([dueTimes.due(150), dueTimes.nextAtMs], [[], 900], "the store returned the next due time");
		commit(200);
		dueTimes.note(SHOP, 200);
		const request = ask();
		deepEqual([request.afterDueAtMs, request.limit], [150, 10]);
		deepEqual(answer(request, 200), [200]);
	});

	test("before the rows that were read is found, because a commit can be late", () => {
		const { dueTimes, commit, read } = setUp();
		for (const dueAtMs of [100, 120, 140]) commit(dueAtMs);
		dueTimes.note(SHOP, 100);
		deepEqual(read(150), [100, 120, 140]);
		for (const dueAtMs of [100, 110, 150]) {
			commit(dueAtMs);
			dueTimes.note(SHOP, dueAtMs);
			deepEqual([dueTimes.due(150), read(150)], [[SHOP], [dueAtMs]]);
		}
		deepEqual(dueTimes.due(150), []);
	});

	test("is not lost if it comes while the queue is being read, even if the answer does not contain the row", () => {
		for (const dueAtMs of [90, 150, 170]) {
			const { dueTimes, commit, ask, answer, read } = setUp();
			commit(100);
			dueTimes.note(SHOP, 100);
			const request = ask();
			dueTimes.note(SHOP, dueAtMs);
			deepEqual(answer(request, 150), [100]);
			commit(dueAtMs);
			equal(dueTimes.dueAtMs(SHOP), dueAtMs);
			deepEqual(read(200), [dueAtMs]);
		}
	});
});

describe("a delivery in progress", () => {
	test("is not returned again, and does not reduce the number of new deliveries", () => {
		const { dueTimes, commit, read, inProgress } = setUp();
		for (const dueAtMs of [100, 110, 120, 130]) commit(dueAtMs);
		dueTimes.note(SHOP, 100);
		deepEqual(read(150, 4), [100, 110, 120, 130]);
		for (const dueAtMs of [105, 115, 125]) commit(dueAtMs);
		dueTimes.note(SHOP, 105);
		deepEqual(read(150, 2), [105, 115]);
		deepEqual(dueTimes.due(150), [SHOP], "there is more");
		deepEqual([read(150, 2), dueTimes.due(150), inProgress.size], [[125], [], 7]);
	});

	test("that was added unread is not returned when its row is read", () => {
		const { dueTimes, commit, read, inProgress } = setUp();
		const unread = commit(100);
		inProgress.set(unread.id, unread);
		deepEqual(dueTimes.due(150), []);
		commit(100);
		dueTimes.note(SHOP, 100);
		deepEqual([read(150, 1), inProgress.size], [[100], 2]);
	});
});

test("the receiver that was served longest ago is next, however many rows another one has", () => {
	const { dueTimes, commit, read } = setUp();
	const [busy, second, third] = [receiverId(1), receiverId(2), receiverId(3)];
	for (let row = 0; row < 6; row++) commit(100, busy);
	for (const id of [second, third]) for (let row = 0; row < 2; row++) commit(150, id);
	for (const id of [busy, second, third]) dueTimes.note(id, 100);
	const served: number[] = [];
	for (let round = 0; round < 8; round++) {
		const [first = receiverId(0)] = dueTimes.due(200);
		served.push(first);
		read(200, 1, first);
		// A new sale of the busy receiver does not change the order.
		dueTimes.note(busy, 180);
	}
	deepEqual(served, [busy, second, third, busy, second, third, busy, second]);
});

for (const isBeingRead of [false, true]) {
	test(`a receiver that is postponed ${isBeingRead ? "while it is being read " : ""}is read from the start at that time`, () => {
		const { dueTimes, commit, ask, answer, read, inProgress } = setUp();
		commit(100);
		dueTimes.note(SHOP, 100);
		read(150);
		commit(160);
		dueTimes.note(SHOP, 160);
		const request = ask();
		if (!isBeingRead) answer(request, 200);
		inProgress.clear();
		dueTimes.postpone(SHOP, 500);
		if (isBeingRead) deepEqual(answer(request, 200), []);
		deepEqual([dueTimes.due(499), dueTimes.nextAtMs], [[], 500]);
		deepEqual([dueTimes.due(500), read(500)], [[SHOP], [100, 160]]);
	});
}

describe("reading the first row of each receiver", () => {
	test("notes rows that were missed, and counts them if they were due for half a minute", () => {
		const { dueTimes, commit, noteFirstRows, read } = setUp();
		commit(100);
		commit(40_000, receiverId(8));
		equal(noteFirstRows(30_100), 0, "the notification may still arrive");
		deepEqual([dueTimes.due(30_100), dueTimes.nextAtMs, read(30_100)], [[SHOP], 40_000, [100]]);
		commit(200, receiverId(9));
		deepEqual([noteFirstRows(30_201), dueTimes.due(30_201)], [1, [SHOP, 9]]);
	});

	test("does not count a receiver that is due, in progress or postponed", () => {
		const { dueTimes, commit, noteFirstRows, read } = setUp();
		const [due, inProgress, putOff] = [receiverId(1), receiverId(2), receiverId(3)];
		for (const id of [due, inProgress, putOff]) {
			commit(100, id);
			dueTimes.note(id, 100);
		}
		read(150, 1, inProgress);
		dueTimes.postpone(putOff, 50_000);
		equal(noteFirstRows(40_000), 0);
		deepEqual(dueTimes.due(40_000), [due, inProgress]);
		deepEqual(read(40_000, 5, inProgress), [], "its row is in progress");
		deepEqual([dueTimes.due(50_000), read(50_000, 5, putOff)], [[due, putOff], [100]]);
	});
});

test("receivers of forgotten slots are unknown, and are read from the start", () => {
	const { dueTimes, commit, read, inProgress } = setUp();
	const [neighbour, other] = [receiverId(SHOP + SLOTS), receiverId(8)];
	for (const id of [SHOP, neighbour, other]) dueTimes.note(id, 100);
	commit(100);
	read(150);
	deepEqual(dueTimes.due(150), [neighbour, other]);
	dueTimes.forgetSlots(new Set([slotOf(SHOP)]));
	deepEqual(dueTimes.due(200), [other]);
	inProgress.clear();
	dueTimes.note(SHOP, 200);
	deepEqual(read(200), [100]);
});
