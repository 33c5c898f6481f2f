import { equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { createPlaces } from "./places.ts";

function open(limits: Partial<Parameters<typeof createPlaces>[0]> = {}) {
	const clock = { atMs: 0 };
	const places = createPlaces({ aPerson: 1, inAll: 2, ...limits }, { nowMs: () => clock.atMs });
	return { clock, places };
}

test("each person has a few places, and all together some more", () => {
	const { places } = open();
	notEqual(places.take(1), undefined);
	equal(places.take(1), undefined, "one person");
	notEqual(places.take(2), undefined);
	equal(places.take(3), undefined, "all together");
});

test("a place that was given back is free at once, and only that one, however often it is given back", () => {
	const { places } = open();
	const giveBack = places.take(1);
	ok(giveBack !== undefined);
	giveBack();
	notEqual(places.take(1), undefined);
	giveBack();
	equal(places.take(1), undefined);
});

test("with a pause a place is free when it is over, counted from the first time it was given back", () => {
	const { clock, places } = open({ pauseMs: 5_000 });
	const giveBack = places.take(1);
	ok(giveBack !== undefined);
	clock.atMs = 60_000;
	equal(places.take(1), undefined, "still taken");
	giveBack();
	clock.atMs += 4_999;
	equal(places.take(1), undefined);
	giveBack();
	clock.atMs += 1;
	notEqual(places.take(1), undefined);
});
