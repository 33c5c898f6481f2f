import { equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { createSlots } from "./slots.ts";

function open(limits: Partial<Parameters<typeof createSlots>[0]> = {}) {
	const clock = { atMs: 0 };
	const slots = createSlots({ aPerson: 1, inAll: 2, ...limits }, { nowMs: () => clock.atMs });
	return { clock, slots };
}

test("each person has a few slots, and all together some more", () => {
	const { slots } = open();
	notEqual(slots.take(1), undefined);
	equal(slots.take(1), undefined, "one person");
	notEqual(slots.take(2), undefined);
	equal(slots.take(3), undefined, "all together");
});

test("a slot that was given back is free at once, and only that one, however often it is given back", () => {
	const { slots } = open();
	const giveBack = slots.take(1);
	ok(giveBack !== undefined);
	giveBack();
	notEqual(slots.take(1), undefined);
	giveBack();
	equal(slots.take(1), undefined);
});

test("with a pause a slot is free when it is over, counted from the first time it was given back", () => {
	const { clock, slots } = open({ pauseMs: 5_000 });
	const giveBack = slots.take(1);
	ok(giveBack !== undefined);
	clock.atMs = 60_000;
	equal(slots.take(1), undefined, "still taken");
	giveBack();
	clock.atMs += 4_999;
	equal(slots.take(1), undefined);
	giveBack();
	clock.atMs += 1;
	notEqual(slots.take(1), undefined);
});
