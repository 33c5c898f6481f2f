import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { Pace, type PaceReading } from "./pace.ts";

const NOW_MS = 1_000_000;
const MOST = 1_000;

/** The shops are the bottleneck, and something waits. */
const IDLE: PaceReading = { busyShare: 0.1, lateMs: 0, quickestMs: 20, hasWaited: true };
/** We are the bottleneck: a drain at full speed. */
const BUSY: PaceReading = { ...IDLE, busyShare: 0.95 };
const LATE: PaceReading = { ...BUSY, lateMs: 301 };

/** How many could go out together now. */
function allowanceOf(pace: Pace, oldInFlight = 0): number {
	const underWay = new Set(Array.from({ length: oldInFlight }, () => ({ startedAtMs: NOW_MS - 1_000 })));
	let sent = 0;
	while (sent < MOST && pace.hasRoom(underWay, NOW_MS)) {
		underWay.add({ startedAtMs: NOW_MS - 999 });
		sent++;
	}
	return sent;
}

describe("the allowance after each look", () => {
	const late = [32, 16, 8];
	const cases: readonly [
		title: string,
		cap: number,
		looks: readonly PaceReading[],
		allowances: readonly number[],
	][] = [
		[
			"doubles up to the cap while the shops are the bottleneck",
			500,
			[IDLE, IDLE, IDLE, IDLE],
			[128, 256, 500, 500],
		],
		[
			"halves while this process is, but not below 64",
			512,
			[IDLE, IDLE, BUSY, BUSY, BUSY],
			[128, 256, 128, 64, 64],
		],
		["is the cap where that is below 64", 3, [IDLE, BUSY, IDLE, LATE, IDLE], [3, 3, 3, 3, 3]],
		["stays as it is while nothing waits for room", 512, [IDLE, { ...IDLE, hasWaited: false }], [128, 128]],
		[
			"goes below 64 at once when the loop was late, and never below 8",
			512,
			[IDLE, IDLE, LATE, LATE, LATE, LATE],
			[128, 256, ...late, 8],
		],
		["shrinks also when nothing waits for room", 512, [{ ...LATE, hasWaited: false }], [32]],
		["shrinks by being late alone, however idle the process looks", 512, [{ ...LATE, busyShare: 0 }], [32]],
		[
			"comes back to 64 by eights, busy or not",
			512,
			[LATE, LATE, LATE, BUSY, IDLE, BUSY, BUSY, BUSY, BUSY, BUSY, BUSY],
			[...late, 16, 24, 32, 40, 48, 56, 64, 64],
		],
		["comes back only as something waits for room", 512, [LATE, { ...BUSY, hasWaited: false }], [32, 32]],
		["does not mind a loop that is late by what a pass takes", 512, [{ ...BUSY, lateMs: 300 }], [64]],
		[
			"shrinks when we are busy and not one answer came within a second",
			512,
			[{ ...BUSY, quickestMs: 1_001 }],
			[32],
		],
		["does not mind slow shops while we are not busy", 512, [{ ...IDLE, quickestMs: 4_000 }], [128]],
		["does not mind that there was no answer at all", 512, [{ ...BUSY, quickestMs: null }], [64]],
	];
	for (const [title, cap, looks, allowances] of cases) {
		test(title, () => {
			const pace = new Pace(cap);
			equal(allowanceOf(pace), Math.min(64, cap), "at the start");
			const found = looks.map((reading) => {
				pace.adjust(reading);
				return allowanceOf(pace);
			});
			deepEqual(found, allowances);
		});
	}
});

describe("what is in flight for more than a second", () => {
	test("waits for its shop, and leaves the smallest allowance to the others", () => {
		const pace = new Pace(512);
		for (const reading of [LATE, LATE, LATE]) pace.adjust(reading);
		equal(allowanceOf(pace, 8), 8);
	});

	test("counts when there are as many as a busy process ever has", () => {
		const pace = new Pace(512);
		for (const reading of [LATE, LATE, LATE]) pace.adjust(reading);
		equal(allowanceOf(pace, 60), 4);
		equal(allowanceOf(pace, 64), 0);
	});

	test("counts in every larger allowance", () => {
		const pace = new Pace(512);
		equal(allowanceOf(pace, 10), 54);
		pace.adjust(IDLE);
		equal(allowanceOf(pace, 10), 118);
	});
});
