import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { SLOTS } from "../domain/slot.ts";
import { countToTake, lookAgainInMs, Slots } from "./slots.ts";

const OURS = [3, 5, 8, 9];
/**
 * Returns a receiver whose slot is the given one. A receiver's slot is its id times 39 modulo 64, and 23 is the
 * inverse of 39.
 */
const receiverIn = (slot: number) => receiverId((slot * 23) % SLOTS);

function own(share: number): Slots {
	const slots = new Slots();
	slots.update(OURS, share);
	return slots;
}

const handedOut = (slots: Slots) => OURS.filter((slot) => slots.maySendTo(receiverIn(slot)));

describe("slots", () => {
	test("within the share may all be sent for, and no other slot is owned", () => {
		const slots = own(4);
		deepEqual([handedOut(slots), slots.leaving(), slots.count], [OURS, [], 4]);
		deepEqual(
			[slots.owns(receiverId(receiverIn(3) + SLOTS)), slots.maySendTo(receiverId(receiverIn(3) + SLOTS))],
			[true, true],
			"another receiver of slot 3",
		);
		deepEqual([slots.owns(receiverIn(4)), slots.maySendTo(receiverIn(4))], [false, false]);
	});

	test("beyond the share are leaving: they are owned, but nothing new is sent for them", () => {
		const slots = own(3);
		deepEqual([slots.leaving(), handedOut(slots), own(0).leaving()], [[3], [5, 8, 9], OURS]);
		equal(slots.owns(receiverIn(3)), true);
		deepEqual(slots.all(), OURS);
	});

	test("that are leaving stay the same at the next update, and fewer leave when the share grows", () => {
		const slots = own(3);
		const leavingAt = (share: number) => {
			slots.update([9, 8, 5, 3], share);
			return slots.leaving();
		};
		deepEqual([3, 2, 3, 4].map(leavingAt), [[3], [3, 9], [9], []]);
		deepEqual(handedOut(slots), OURS);
	});

	test("that the store does not list are no longer owned, and neither are forgotten ones", () => {
		const slots = own(2);
		slots.update([8, 9, 10], 3);
		deepEqual([slots.all(), slots.leaving()], [[8, 9, 10], []]);
		slots.update([8, 9, 10], 2);
		slots.forget([8, 10]);
		deepEqual([slots.all(), slots.leaving(), slots.owns(receiverIn(8))], [[9], [], false]);
	});
});

describe("an engine takes", () => {
	const look = { engines: 2, mine: OURS, free: 10, nextSilentInMs: null };
	for (const [title, change, share, count] of [
		["as many slots as its share lacks", {}, 8, 4],
		["no more slots than are free", { free: 3 }, 8, 3],
		["no slot if it has its share", {}, 4, 0],
		["no slot if it has more than its share", {}, 2, 0],
	] as const) {
		test(title, () => equal(countToTake({ ...look, ...change }, share), count));
	}
});

test("an engine looks at the slots at its next renewal, or when a silent engine can be removed, but not all the time", () => {
	const silentInMs = [null, 9_000, 3_000, 50, -3_000];
	deepEqual(
		silentInMs.map((inMs) => lookAgainInMs(inMs, -1)),
		[5_000, 5_000, 3_001, 100, 100],
	);
	deepEqual(
		silentInMs.map((inMs) => lookAgainInMs(inMs, 4_000)),
		[5_000, 5_000, 4_000, 4_000, 4_000],
	);
});
