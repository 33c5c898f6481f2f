import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { fairShare, SLOTS, slotOf } from "./slot.ts";

test("64 receivers with consecutive ids are in 64 different slots", () => {
	const slots = Array.from({ length: SLOTS }, (_, index) => slotOf(receiverId(1_000 + index)));
	equal(new Set(slots).size, SLOTS);
	equal(
		slots.every((slot) => slot >= 0 && slot < SLOTS),
		true,
	);
});

test("the shares of all engines cover all slots, and no engine has more than its share", () => {
	deepEqual([0, 1, 2, 3, 64, 65].map(fairShare), [64, 64, 32, 22, 1, 1]);
});
