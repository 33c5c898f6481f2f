// When an engine may send and must renew, and what its fair share of the lanes is.

import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { createRandom } from "../outside/random.ts";
import { drawEngineId, isRenewalDue, lanesTooMany, leaseBeforeMs, maySend } from "./lease.ts";

const NOW_MS = 1_000_000;

describe("an engine's last renewal", () => {
	const cases: readonly [title: string, agoMs: number, may: boolean, isDue: boolean][] = [
		["just now", 0, true, false],
		["young", 4_999, true, false],
		["to be renewed", 5_000, true, true],
		["the last moment to send", 20_000, true, true],
		["too old to send", 20_001, false, true],
		["by a clock that was set back since", -1, false, true],
		["never", Number.POSITIVE_INFINITY, false, true],
	];
	for (const [title, agoMs, may, isDue] of cases) {
		test(title, () => {
			const lease = { engineId: 1, renewedAtMs: NOW_MS - agoMs };
			deepEqual([maySend(lease, NOW_MS), isRenewalDue(lease, NOW_MS)], [may, isDue]);
		});
	}
});

describe("lanes that are more than a fair share", () => {
	const cases: readonly [
		title: string,
		held: number,
		count: number,
		heldByOthers: number,
		tooMany: number,
	][] = [
		["alone, everything is its own", 1_000, 0, 0, 0],
		["alone, whatever one that has ended last said", 1_000, 0, 500, 0],
		["another one comes and has nothing", 1_000, 1, 0, 500],
		["two come and have nothing", 900, 2, 0, 600],
		["even", 500, 1, 500, 0],
		["less than the others", 10, 1, 990, 0],
		["a little more is left as it is", 56, 1, 44, 0],
		["beyond an eighth it comes down to the share", 57, 1, 43, 7],
		["an odd lane belongs to somebody", 1, 1, 0, 0],
		["two lanes are one each", 2, 1, 0, 1],
		["more engines than lanes: one each", 3, 9, 0, 2],
		["nothing at all", 0, 3, 0, 0],
	];
	for (const [title, held, count, heldByOthers, tooMany] of cases) {
		test(title, () => equal(lanesTooMany(held, { count, held: heldByOthers }), tooMany));
	}

	test("engines that come and go end up even, and nothing wanders about from then on", () => {
		let held = [1_000];
		const settleDown = () => {
			for (let look = 0; look < 10; look++) {
				const before = [...held];
				for (const index of held.keys()) giveUp(held, index);
				if (before.every((lanes, index) => lanes === held[index])) return;
			}
			throw new Error(`still moving: ${held.join(", ")}`);
		};
		for (const count of [2, 5, 3, 7]) {
			const gone = held.splice(count).reduce((sum, lanes) => sum + lanes, 0);
			held = [...held, ...Array<number>(Math.max(0, count - held.length)).fill(0)];
			held[0] = (held[0] ?? 0) + gone;
			settleDown();
			const share = 1_000 / count;
			for (const lanes of held) ok(lanes <= Math.ceil(share) * 1.125, `${lanes} of a share of ${share}`);
			equal(
				held.reduce((sum, lanes) => sum + lanes, 0),
				1_000,
			);
		}
	});

	/** What one has too many is leased by those that have the least. */
	function giveUp(held: number[], index: number): void {
		const own = held[index] ?? 0;
		const others = held.toSpliced(index, 1);
		const surplus = lanesTooMany(own, { count: others.length, held: others.reduce((sum, n) => sum + n, 0) });
		held[index] = own - surplus;
		for (let n = 0; n < surplus; n++) {
			const least = held.indexOf(Math.min(...held));
			held[least] = (held[least] ?? 0) + 1;
		}
	}
});

test("with more than its share an engine leaves lanes to the others for two seconds", () => {
	equal(leaseBeforeMs(false, NOW_MS), NOW_MS);
	equal(leaseBeforeMs(true, NOW_MS), NOW_MS - 2_000);
});

test("an engine's number is exact, and another one each time", () => {
	const random = createRandom();
	const drawn = Array.from({ length: 1_000 }, () => drawEngineId(random));
	ok(drawn.every((id) => Number.isSafeInteger(id) && id >= 0));
	equal(new Set(drawn).size, drawn.length);
	equal(drawEngineId({ ...random, hex: (bytes) => "ff".repeat(bytes) }), 2 ** 48 - 1);
});
