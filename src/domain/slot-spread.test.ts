import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { SLOTS, slotOf } from "./slot.ts";

const inFirstHalf = (programmeId: number): boolean => slotOf(programmeId) < SLOTS / 2;

test("every slot has its programmes", () => {
	const slots = new Set(Array.from({ length: SLOTS }, (_, id) => slotOf(id + 1)));
	deepEqual(
		[...slots].sort((a, b) => a - b),
		Array.from({ length: SLOTS }, (_, slot) => slot),
	);
});

test("a few programmes, one after the other, are spread evenly over two engines", () => {
	for (let first = 1; first <= SLOTS; first++) {
		for (const count of [4, 8, 20, 100]) {
			const ids = Array.from({ length: count }, (_, at) => first + at);
			const share = ids.filter(inFirstHalf).length / count;
			ok(share >= 0.25 && share <= 0.75, `${count} from ${first}: ${share}`);
		}
	}
});
