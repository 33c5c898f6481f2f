import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { fairShare, SLOTS, slotOf } from "./slot.ts";

test("as many programmes in a row as there are slots are each in another one", () => {
	const slots = Array.from({ length: SLOTS }, (_, index) => slotOf(1_000 + index));
	equal(new Set(slots).size, SLOTS);
	equal(
		slots.every((slot) => slot >= 0 && slot < SLOTS),
		true,
	);
});

test("engines that have their share each have all slots together, and none of them too many", () => {
	deepEqual([0, 1, 2, 3, 64, 65].map(fairShare), [64, 64, 32, 22, 1, 1]);
});
