import { equal } from "node:assert/strict";
import { test } from "node:test";
import { Pace } from "./pace.ts";

const IDLE = 0.1;
const BUSY = 0.95;

test("the window starts at 64, so that fast shops are served over few connections", () => {
	const pace = new Pace(512);
	equal(pace.hasRoom(63), true);
	equal(pace.hasRoom(64), false);
});

test("while the shops are the bottleneck the window doubles up to the cap, and no further", () => {
	const pace = new Pace(500);
	for (const roomFor of [128, 256, 500, 500]) {
		pace.adjust(IDLE);
		equal(pace.hasRoom(roomFor - 1), true);
		equal(pace.hasRoom(roomFor), false);
	}
});

test("while this process is the bottleneck the window halves again, but never below 64", () => {
	const pace = new Pace(512);
	for (let look = 0; look < 3; look++) pace.adjust(IDLE);
	for (const roomFor of [256, 128, 64, 64]) {
		pace.adjust(BUSY);
		equal(pace.hasRoom(roomFor - 1), true);
		equal(pace.hasRoom(roomFor), false);
	}
});

test("a cap below 64 is the window, whatever the load", () => {
	const pace = new Pace(3);
	for (const share of [IDLE, BUSY, IDLE]) {
		pace.adjust(share);
		equal(pace.hasRoom(2), true);
		equal(pace.hasRoom(3), false);
	}
});
