// Which handouts may be forgotten: those of which everything is settled, and no other.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { Handouts } from "./handouts.ts";

/** One pass that is stored: what it may forget. */
function pass(handouts: Handouts, handedOut: number, settled: readonly number[]): number[] {
	const number = handouts.next();
	const ended = handouts.endedWith(countEach(settled));
	handouts.learn(number, handedOut, countEach(settled));
	return ended;
}

function countEach(settled: readonly number[]): ReadonlyMap<number, number> {
	const groups = Map.groupBy(settled, (handout) => handout);
	return new Map([...groups].map(([handout, { length }]) => [handout, length]));
}

test("a handout is forgotten with the last of it, in however many passes", () => {
	const handouts = new Handouts();
	deepEqual(pass(handouts, 3, []), []);
	deepEqual(pass(handouts, 2, [1]), []);
	deepEqual(pass(handouts, 0, [1, 2]), []);
	deepEqual(pass(handouts, 1, [2, 1]), [2, 1]);
	deepEqual(pass(handouts, 0, [4]), [4]);
	deepEqual(pass(handouts, 0, []), []);
});

test("what is settled in the pass that hands out the next is counted apart", () => {
	const handouts = new Handouts();
	pass(handouts, 1, []);
	deepEqual(pass(handouts, 1, [1]), [1]);
	deepEqual(pass(handouts, 0, [2]), [2]);
});

test("a pass that failed may have handed out: its number is forgotten with the next that is stored", () => {
	const handouts = new Handouts();
	pass(handouts, 2, []);
	const lost = handouts.next();
	deepEqual(handouts.endedWith(countEach([1, 1])), [1]);
	handouts.doubt(lost);
	const lostToo = handouts.next();
	deepEqual(handouts.endedWith(countEach([1, 1])), [lost, 1], "its results come again, and are counted once");
	handouts.doubt(lostToo);
	deepEqual(pass(handouts, 0, [1, 1]), [lost, lostToo, 1]);
	deepEqual(pass(handouts, 0, []), []);
});

test("no number is given twice, not after a failure and not after the lease was lost", () => {
	const handouts = new Handouts();
	pass(handouts, 1, []);
	handouts.doubt(handouts.next());
	handouts.clear();
	equal(handouts.next(), 3);
	deepEqual(
		handouts.endedWith(countEach([1])),
		[],
		"what was handed out under the lost lease is somebody else's",
	);
});
