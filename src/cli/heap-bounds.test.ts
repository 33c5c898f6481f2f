import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setImmediate as yieldLoop } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";
import packageJson from "../../package.json" with { type: "json" };
import { NODE_OPTIONS } from "../../release/executable.ts";
import { boundHeap } from "./heap-bounds.ts";

test("npm start, the command itself and the executable bound the space for new objects alike", () => {
	const [firstLine = ""] = readFileSync(new URL("../ringback.js", import.meta.url), "utf8").split("\n");
	const [bound] = /--max-semi-space-size=\d+/.exec(firstLine) ?? [];
	assert.ok(bound !== undefined, firstLine);
	assert.ok(packageJson.scripts.start.split(" ").includes(bound), packageJson.scripts.start);
	assert.deepEqual(NODE_OPTIONS, [bound]);
});

test("what starting left behind goes back to the system, and garbage never outgrows what is in use", async () => {
	// As much as a few hundred sources leave, old enough to be out of the space for new objects.
	let left: object[] | null = makeObjects(600_000);
	await work(20);
	assert.ok(left.length > 0);
	const before = heapMb();
	left = null;
	boundHeap();
	const after = heapMb();
	assert.ok(after.old < before.old - 30, `old objects: ${before.old} MB before, ${after.old} MB after`);
	assert.ok(after.young < 3, `new objects: ${after.young} MB`);

	const kept = makeObjects(300_000);
	let largest = 0;
	for (let round = 0; round < 30; round++) {
		await work(20);
		largest = Math.max(largest, heapMb().old);
	}
	assert.equal(kept.length, 300_000);
	// Without the bound 250 MB. It holds for what is in use when a collection ends, short-lived objects included.
	assert.ok(largest < 180, `old objects: up to ${largest} MB while 45 MB are in use`);
});

/** Objects that live as long as a delivery does: through a collection or two. */
async function work(rounds: number): Promise<void> {
	const alive: object[][] = [];
	for (let round = 0; round < rounds; round++) {
		alive.push(makeObjects(20_000));
		if (alive.length > 10) alive.shift();
		await yieldLoop();
	}
}

function makeObjects(count: number): object[] {
	return Array.from({ length: count }, (_, number) => ({ number, text: `object ${number}` }));
}

function heapMb(): { old: number; young: number } {
	const sizes = new Map(getHeapSpaceStatistics().map((space) => [space.space_name, space.space_size / 1e6]));
	return { old: sizes.get("old_space") ?? 0, young: sizes.get("new_space") ?? 0 };
}
