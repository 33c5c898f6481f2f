import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { SLOTS, slotOf } from "./slot.ts";

const inFirstHalf = (receiver: number): boolean => slotOf(receiverId(receiver)) < SLOTS / 2;

test("every slot has its receivers", () => {
	const slots = new Set(Array.from({ length: SLOTS }, (_, id) => slotOf(receiverId(id + 1))));
	deepEqual(
		[...slots].sort((a, b) => a - b),
		Array.from({ length: SLOTS }, (_, slot) => slot),
	);
});

test("a few receivers, one after the other, are spread evenly over two engines", () => {
	for (let first = 1; first <= SLOTS; first++) {
		for (const count of [4, 8, 20, 100]) {
			const ids = Array.from({ length: count }, (_, at) => first + at);
			const share = ids.filter(inFirstHalf).length / count;
			ok(share >= 0.25 && share <= 0.75, `${count} from ${first}: ${share}`);
		}
	}
});
