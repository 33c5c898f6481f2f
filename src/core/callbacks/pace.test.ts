import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { createClock, START_MS } from "../../../test/support/clock.ts";
import { nextAllowance, Pace, type PaceReading } from "./pace.ts";

/** Measurement of a process that waits for its shops. The shops are the bottleneck, and a delivery waits for room. */
const IDLE: PaceReading = { busyShare: 0.1, lateMs: 0, quickestMs: 20, hasWaited: true };
/** Measurement of a process that is the bottleneck itself, because it sends at full speed. */
const BUSY: PaceReading = { ...IDLE, busyShare: 0.95 };
const LATE: PaceReading = { ...BUSY, lateMs: 301 };

describe("after each measurement the allowance", () => {
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
			"halves while this process is the bottleneck, but not below 64",
			512,
			[IDLE, IDLE, BUSY, BUSY, BUSY],
			[128, 256, 128, 64, 64],
		],
		["is the cap if the cap is below 64", 3, [IDLE, BUSY, IDLE, LATE, IDLE], [3, 3, 3, 3, 3]],
		[
			"does not change while no delivery waits for room",
			512,
			[IDLE, { ...IDLE, hasWaited: false }],
			[128, 128],
		],
		[
			"falls below 64 at once if the loop was late, and never below 8",
			512,
			[IDLE, IDLE, LATE, LATE, LATE, LATE],
			[128, 256, ...late, 8],
		],
		["falls even if no delivery waits for room", 512, [{ ...LATE, hasWaited: false }], [32]],
		["falls if the loop is late, however idle the process looks", 512, [{ ...LATE, busyShare: 0 }], [32]],
		[
			"recovers to 64 in steps of eight, busy or not",
			512,
			[LATE, LATE, LATE, BUSY, IDLE, BUSY, BUSY, BUSY, BUSY, BUSY, BUSY],
			[...late, 16, 24, 32, 40, 48, 56, 64, 64],
		],
		["recovers only if a delivery waits for room", 512, [LATE, { ...BUSY, hasWaited: false }], [32, 32]],
		["does not fall if the loop is late by no more than a pass takes", 512, [{ ...BUSY, lateMs: 300 }], [64]],
		[
			"falls if the process is busy and no answer came within a second",
			512,
			[{ ...BUSY, quickestMs: 1_001 }],
			[32],
		],
		[
			"does not fall because of slow shops while the process is not busy",
			512,
			[{ ...IDLE, quickestMs: 4_000 }],
			[128],
		],
		["does not fall because there was no answer", 512, [{ ...BUSY, quickestMs: null }], [64]],
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

describe("a request that is in flight for more than a second", () => {
	/**
	 * Returns how many requests may begin if `old` requests began a second ago and the process was late at `looks`
	 * measurements since.
	 */
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
		["does not count in the least allowance", 8, 3, 8],
		["counts towards the usual limit of 64", 60, 3, 4],
		["leaves no room if there are 64 of them", 64, 3, 0],
		["counts in every larger allowance", 10, 0, 54],
	];
	for (const [title, old, lateLooks, room] of cases) {
		test(title, async () => equal(await roomBeside(old, lateLooks), room));
	}
});
