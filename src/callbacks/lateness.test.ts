import { equal } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Outcome } from "../domain/verdict.ts";
import { isLostToLateness } from "./lateness.ts";

const TIMEOUT: Outcome = { kind: "timeout", stage: "exchange" };

describe("an attempt is lost to our lateness", () => {
	const cases: readonly [
		title: string,
		outcome: Outcome,
		tookMs: number,
		answerMs: number | null,
		lateMs: number,
		isLost: boolean,
	][] = [
		["when nothing was written and we were late for a second", TIMEOUT, 5_000, null, 1_000, true],
		["not when we were late for less", TIMEOUT, 5_000, null, 999, false],
		["not when we were not late: the shop's handshake hangs", TIMEOUT, 5_000, null, 0, false],
		["when the shop had less than four seconds for its answer", TIMEOUT, 5_000, 4_000, 4_000, true],
		["not when it had more, however late we were after writing", TIMEOUT, 5_000, 4_001, 4_000, false],
		["not when it was answered after all", { kind: "answered", status: 204 }, 5_000, 10, 4_900, false],
		[
			"when the name server had no time",
			{ kind: "network-error", stage: "look-up", code: "ETIMEOUT" },
			4_000,
			null,
			3_000,
			true,
		],
		[
			"when the address had no time",
			{ kind: "network-error", stage: "connect", code: "ETIMEDOUT" },
			4_000,
			null,
			3_000,
			true,
		],
		[
			"not when the shop refused",
			{ kind: "network-error", stage: "connect", code: "ECONNREFUSED" },
			4_000,
			null,
			3_000,
			false,
		],
	];
	for (const [title, outcome, tookMs, answerMs, lateMs, isLost] of cases) {
		test(title, () => {
			const timings = { lookUpMs: null, connectMs: 1, tlsMs: null, answerMs };
			equal(isLostToLateness({ outcome, timings, kept: null }, tookMs, lateMs), isLost);
		});
	}
});
