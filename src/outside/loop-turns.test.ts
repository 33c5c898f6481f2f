import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createTurns } from "./loop-turns.ts";

test("no more than the given number runs in a turn of the event loop, and all run in their order", async () => {
	const begun: number[] = [];
	const beginInTurn = createTurns(2);
	for (const number of [1, 2, 3, 4, 5]) beginInTurn(() => begun.push(number));
	assert.deepEqual(begun, [1, 2]);
	await nextTurn();
	assert.deepEqual(begun, [1, 2, 3, 4]);
	beginInTurn(() => begun.push(6));
	assert.deepEqual(begun, [1, 2, 3, 4], "what came earlier goes first");
	await nextTurn();
	assert.deepEqual(begun, [1, 2, 3, 4, 5, 6]);
	await nextTurn();
	beginInTurn(() => begun.push(7));
	assert.deepEqual(begun, [1, 2, 3, 4, 5, 6, 7]);
});
