import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { dueDelivery } from "../../test/support/rows.ts";
import { SLOTS, slotOf } from "../domain/slot.ts";
import type { DueDelivery } from "../store/queries/queue.ts";
import { Agenda, type AgendaRequest } from "./agenda.ts";

const SHOP = 7;

function setUp() {
	const agenda = new Agenda();
	const queue: DueDelivery[] = [];
	const hands = new Map<number, Map<number, DueDelivery>>();
	const inHand = (programmeId: number) =>
		hands.getOrInsertComputed(programmeId, () => new Map<number, DueDelivery>());
	const sorted = () => queue.toSorted((a, b) => a.dueAtMs - b.dueAtMs || a.id - b.id);
	const ask = (wanted = 10, programmeId = SHOP): AgendaRequest => {
		const [request] = agenda.requestsFor([{ programmeId, limit: wanted }], inHand);
		if (request === undefined) throw new Error("one request for each");
		return request;
	};
	/** As the store answers. Returns the due times of what is taken in hand. */
	const answer = (request: AgendaRequest, nowMs: number): number[] => {
		const { programmeId, afterDueAtMs, afterId, limit } = request;
		const rows = sorted().filter((row) => row.programmeId === programmeId);
		const isBehind = ({ dueAtMs, id }: DueDelivery) =>
			dueAtMs > afterDueAtMs || (dueAtMs === afterDueAtMs && id > afterId);
		const found = rows.filter((row) => row.dueAtMs <= nowMs && isBehind(row)).slice(0, limit);
		const next = rows.find(({ dueAtMs }) => dueAtMs > nowMs)?.dueAtMs ?? null;
		const taken = agenda.learn(request, found, found.length < limit ? next : null, inHand, nowMs);
		for (const row of taken) {
			equal(inHand(programmeId).has(row.id), false, "nothing is taken in hand twice");
			inHand(programmeId).set(row.id, row);
		}
		return taken.map(({ dueAtMs }) => dueAtMs);
	};
	return {
		agenda,
		/** A row of which the agenda has not heard. */
		commit(dueAtMs: number, programmeId = SHOP): DueDelivery {
			const row = dueDelivery({ programmeId, dueAtMs });
			queue.push(row);
			return row;
		},
		ask,
		answer,
		read: (nowMs: number, wanted?: number, programmeId?: number) => answer(ask(wanted, programmeId), nowMs),
		/** Because something may have been missed. */
		learnAll(nowMs: number): number {
			const firsts = new Map<number, DueDelivery>();
			for (const row of sorted()) firsts.getOrInsert(row.programmeId, row);
			return agenda.learnAll([...firsts.values()], inHand, nowMs);
		},
		inHand: inHand(SHOP),
	};
}

describe("what is noted", () => {
	test("is due at its time and not before, at the earliest time that was noted", () => {
		const { agenda } = setUp();
		agenda.note(SHOP, 200);
		agenda.note(SHOP, 100);
		agenda.note(SHOP, 300);
		deepEqual([agenda.due(99), agenda.nextAtMs, agenda.dueAtMs(SHOP)], [[], 100, 100]);
		deepEqual([agenda.due(100), agenda.nextAtMs], [[SHOP], Number.POSITIVE_INFINITY]);
		equal(agenda.dueAtMs(8), Number.POSITIVE_INFINITY, "of another nothing is known");
	});

	test("behind what was read is read from there on, and what follows it is due later", () => {
		const { agenda, commit, ask, answer, read } = setUp();
		commit(100);
		commit(900);
		agenda.note(SHOP, 100);
		deepEqual(read(150), [100]);
		deepEqual([agenda.due(150), agenda.nextAtMs], [[], 900], "the store told what is next");
		commit(200);
		agenda.note(SHOP, 200);
		const request = ask();
		deepEqual([request.afterDueAtMs, request.limit], [150, 10]);
		deepEqual(answer(request, 200), [200]);
	});

	test("before what was read is found: a commit can come late", () => {
		const { agenda, commit, read } = setUp();
		for (const dueAtMs of [100, 120, 140]) commit(dueAtMs);
		agenda.note(SHOP, 100);
		deepEqual(read(150), [100, 120, 140]);
		for (const dueAtMs of [100, 110, 150]) {
			commit(dueAtMs);
			agenda.note(SHOP, dueAtMs);
			deepEqual([agenda.due(150), read(150)], [[SHOP], [dueAtMs]]);
		}
		deepEqual(agenda.due(150), []);
	});

	test("while the queue is being read is not lost, though the answer does not have it", () => {
		for (const dueAtMs of [90, 150, 170]) {
			const { agenda, commit, ask, answer, read } = setUp();
			commit(100);
			agenda.note(SHOP, 100);
			const request = ask();
			agenda.note(SHOP, dueAtMs);
			deepEqual(answer(request, 150), [100]);
			commit(dueAtMs);
			equal(agenda.dueAtMs(SHOP), dueAtMs);
			deepEqual(read(200), [dueAtMs]);
		}
	});
});

describe("what is in hand", () => {
	test("is not taken again and takes no place from what is new", () => {
		const { agenda, commit, read, inHand } = setUp();
		for (const dueAtMs of [100, 110, 120, 130]) commit(dueAtMs);
		agenda.note(SHOP, 100);
		deepEqual(read(150, 4), [100, 110, 120, 130]);
		for (const dueAtMs of [105, 115, 125]) commit(dueAtMs);
		agenda.note(SHOP, 105);
		deepEqual(read(150, 2), [105, 115]);
		deepEqual(agenda.due(150), [SHOP], "there is more");
		deepEqual([read(150, 2), agenda.due(150), inHand.size], [[125], [], 7]);
	});

	test("without having been read is not taken when it is read", () => {
		const { agenda, commit, read, inHand } = setUp();
		const unread = commit(100);
		inHand.set(unread.id, unread);
		deepEqual(agenda.due(150), []);
		commit(100);
		agenda.note(SHOP, 100);
		deepEqual([read(150, 1), inHand.size], [[100], 2]);
	});
});

test("whichever programme was served longest ago has the next turn, however much another has", () => {
	const { agenda, commit, read } = setUp();
	const [busy, second, third] = [1, 2, 3];
	for (let row = 0; row < 6; row++) commit(100, busy);
	for (const programmeId of [second, third]) for (let row = 0; row < 2; row++) commit(150, programmeId);
	for (const programmeId of [busy, second, third]) agenda.note(programmeId, 100);
	const served: number[] = [];
	for (let round = 0; round < 8; round++) {
		const [first = 0] = agenda.due(200);
		served.push(first);
		read(200, 1, first);
		// A sale for the busy one does not change whose turn it is.
		agenda.note(busy, 180);
	}
	deepEqual(served, [busy, second, third, busy, second, third, busy, second]);
});

for (const isBeingRead of [false, true]) {
	test(`what is put off ${isBeingRead ? "while it is being read " : ""}is due then, from its front on`, () => {
		const { agenda, commit, ask, answer, read, inHand } = setUp();
		commit(100);
		agenda.note(SHOP, 100);
		read(150);
		commit(160);
		agenda.note(SHOP, 160);
		const request = ask();
		if (!isBeingRead) answer(request, 200);
		inHand.clear();
		agenda.putOff(SHOP, 500);
		if (isBeingRead) deepEqual(answer(request, 200), []);
		deepEqual([agenda.due(499), agenda.nextAtMs], [[], 500]);
		deepEqual([agenda.due(500), read(500)], [[SHOP], [100, 160]]);
	});
}

describe("reading the first row of each programme", () => {
	test("mends what was not noted, and counts it where it was due for half a minute", () => {
		const { agenda, commit, learnAll, read } = setUp();
		commit(100);
		commit(40_000, 8);
		equal(learnAll(30_100), 0, "the word may be on its way");
		deepEqual([agenda.due(30_100), agenda.nextAtMs, read(30_100)], [[SHOP], 40_000, [100]]);
		commit(200, 9);
		deepEqual([learnAll(30_201), agenda.due(30_201)], [1, [SHOP, 9]]);
	});

	test("counts nothing that was due, in hand, or put off", () => {
		const { agenda, commit, learnAll, read } = setUp();
		const [due, inHand, putOff] = [1, 2, 3];
		for (const programmeId of [due, inHand, putOff]) {
			commit(100, programmeId);
			agenda.note(programmeId, 100);
		}
		read(150, 1, inHand);
		agenda.putOff(putOff, 50_000);
		equal(learnAll(40_000), 0);
		deepEqual(agenda.due(40_000), [due, inHand]);
		deepEqual(read(40_000, 5, inHand), [], "what is in hand stays there");
		deepEqual([agenda.due(50_000), read(50_000, 5, putOff)], [[due, putOff], [100]]);
	});
});

test("of slots that are dropped nothing is known any more, and they begin at the front", () => {
	const { agenda, commit, read, inHand } = setUp();
	const [neighbour, other] = [SHOP + SLOTS, 8];
	for (const programmeId of [SHOP, neighbour, other]) agenda.note(programmeId, 100);
	commit(100);
	read(150);
	deepEqual(agenda.due(150), [neighbour, other]);
	agenda.drop(new Set([slotOf(SHOP)]));
	deepEqual(agenda.due(200), [other]);
	inHand.clear();
	agenda.note(SHOP, 200);
	deepEqual(read(200), [100]);
});
