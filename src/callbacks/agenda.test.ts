import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { Agenda } from "./agenda.ts";

test("an earlier time replaces a later one, and a later one changes nothing", () => {
	const agenda = new Agenda();
	agenda.note(1, 500);
	agenda.note(1, 300);
	agenda.note(1, 400);
	deepEqual(agenda.due(299), []);
	deepEqual(agenda.due(300), [1]);
});

test("what the queue itself said replaces what was known, in either direction", () => {
	const agenda = new Agenda();
	agenda.note(1, 300);
	agenda.correct(1, 900, 0);
	deepEqual(agenda.due(899), []);
	agenda.correct(1, 200, 0);
	deepEqual(agenda.due(200), [1]);
	agenda.correct(1, null, 0);
	deepEqual(agenda.due(Number.MAX_SAFE_INTEGER), []);
});

test("nobody is due a millisecond early", () => {
	const agenda = new Agenda();
	agenda.note(1, 1_000);
	deepEqual(agenda.due(999), []);
	equal(agenda.nextAfter(999), 1_000);
});

test("each round starts with another programme, so that everybody comes first at some time", () => {
	const agenda = new Agenda();
	for (const programmeId of [1, 2, 3]) agenda.note(programmeId, 0);
	const firsts = [0, 1, 2].map(() => {
		const [first] = agenda.due(0);
		deepEqual(agenda.due(0)[0], first, "looking does not start a round");
		agenda.startRound();
		return first;
	});
	deepEqual(firsts.toSorted(), [1, 2, 3]);
	deepEqual(agenda.due(0).toSorted(), [1, 2, 3], "and nobody is left out of a round");
});

test("the next moment is the earliest that is still to come", () => {
	const agenda = new Agenda();
	equal(agenda.nextAfter(0), Number.POSITIVE_INFINITY);
	agenda.note(1, 100);
	agenda.note(2, 300);
	agenda.note(3, 200);
	equal(agenda.nextAfter(100), 200, "what is due already is no moment to wait for");
	equal(agenda.nextAfter(300), Number.POSITIVE_INFINITY);
});

test("what is announced during a round outlives what the queue said in it, and not the next round", () => {
	const agenda = new Agenda();
	agenda.startRound();
	agenda.announce([1], 100);
	agenda.correct(1, null, 100);
	deepEqual(agenda.due(100), [1]);
	agenda.startRound();
	agenda.correct(1, null, 100);
	deepEqual(agenda.due(100), []);
});

test("due rows that others hold are looked for again a moment later", () => {
	const agenda = new Agenda();
	agenda.correct(1, 90, 100);
	deepEqual([agenda.due(100), agenda.nextAfter(100)], [[], 150]);
});

test("the queue is read at first, every five seconds, and when nobody can say who is due", () => {
	const agenda = new Agenda();
	equal(agenda.isOutdated(0), true);
	agenda.fill([{ programmeId: 1, dueAtMs: 700 }], 1_000);
	deepEqual(agenda.due(1_000), [1]);
	equal(agenda.isOutdated(5_999), false);
	equal(agenda.isOutdated(6_000), true);
	equal(agenda.isOutdated(999), true, "the clock was set back: it is not known how old it is");
	agenda.announce("anywhere", 1_001);
	equal(agenda.isOutdated(1_001), true);
});
