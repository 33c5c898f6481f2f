import { equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { createSlots } from "./slots.ts";

const LIMITS = { aPerson: 1, inAll: 2 };

test("each person has a few slots, and all together some more", () => {
	const slots = createSlots(LIMITS);
	notEqual(slots.take(1), undefined);
	equal(slots.take(1), undefined, "one person");
	notEqual(slots.take(2), undefined);
	equal(slots.take(3), undefined, "all together");
});

test("a slot that was given back is free at once, and only that one, however often it is given back", () => {
	const slots = createSlots(LIMITS);
	const giveBack = slots.take(1);
	ok(giveBack !== undefined);
	giveBack();
	notEqual(slots.take(1), undefined);
	giveBack();
	equal(slots.take(1), undefined);
});
