import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { createClock, START_MS } from "../../test/support/clock.ts";
import { nextAllowance, Pace, type PaceReading } from "./pace.ts";

/** The shops are the bottleneck, and something waits. */
const IDLE: PaceReading = { busyShare: 0.1, lateMs: 0, quickestMs: 20, hasWaited: true };
/** We are the bottleneck: a drain at full speed. */
const BUSY: PaceReading = { ...IDLE, busyShare: 0.95 };
const LATE: PaceReading = { ...BUSY, lateMs: 301 };

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
			let allowance = Math.min(64, cap);
			const found = looks.map((reading) => {
				allowance = nextAllowance(allowance, reading, cap);
				return allowance;
			});
			deepEqual(found, allowances);
		});
	}
});

describe("what is in flight for more than a second", () => {
	/** So many went out a second ago; the process was late at so many looks since. How many can go out now? */
	async function roomBeside(old: number, looks: number): Promise<number> {
		const clock = createClock(START_MS);
		const load = { lateAllInAll: 0, busyShare: () => 0, lateMs: () => load.lateAllInAll };
		const pace = new Pace({ clock, load, mostInFlight: 512 }, () => undefined);
		for (let n = 0; n < old; n++) pace.begin();
		for (let look = 0; look < 4; look++) {
			if (look < looks) load.lateAllInAll += 301;
			await clock.moveBy(250);
		}
		let sent = 0;
		while (sent < 1_000 && pace.hasRoom()) {
			pace.begin();
			sent++;
		}
		pace.stop();
		return sent;
	}

	const cases: readonly [title: string, old: number, lateLooks: number, room: number][] = [
		["leaves the smallest allowance to the others", 8, 3, 8],
		["counts when there are nearly as many as a busy process ever has", 60, 3, 4],
		["and leaves nothing when there are as many", 64, 3, 0],
		["counts in every larger allowance", 10, 0, 54],
	];
	for (const [title, old, lateLooks, room] of cases) {
		test(title, async () => equal(await roomBeside(old, lateLooks), room));
	}
});
