import { deepEqual, equal, throws } from "node:assert/strict";
import { describe, test } from "node:test";
import { SILENT_MS } from "../store/queries/queue.ts";
import { changeState, type EngineState, intentOf, isLeaseFresh, maySend } from "./engine-state.ts";

const LEASE = { engineId: 1, renewedAtMs: 500, isUncertain: false };
const STATES: readonly EngineState[] = [
	{ kind: "unregistered" },
	{ kind: "running", lease: LEASE },
	{ kind: "leaving", lease: LEASE },
	{ kind: "stopped" },
];

/** Transitions that the comment at the top of engine-state.ts shows. */
const ALLOWED = new Set([
	"unregistered → running",
	"unregistered → stopped",
	"running → leaving",
	"running → unregistered",
	"leaving → running",
	"leaving → unregistered",
	"leaving → stopped",
]);

describe("a change of state", () => {
	for (const from of STATES) {
		for (const to of STATES) {
			const change = `${from.kind} → ${to.kind}`;
			if (ALLOWED.has(change)) test(`${change} is allowed`, () => equal(changeState(from, to), to));
			else test(`${change} throws`, () => throws(() => changeState(from, to), /cannot become/));
		}
	}
});

test("an engine sends, unless it must stop, callbacks are held, or the clock is not sure", () => {
	const calm = { isStopRequested: false, isHeld: false, isClockSure: true };
	deepEqual(
		[
			intentOf(calm),
			intentOf({ ...calm, isHeld: true }),
			intentOf({ ...calm, isClockSure: false }),
			intentOf({ ...calm, isStopRequested: true }),
			intentOf({ isStopRequested: true, isHeld: true, isClockSure: false }),
		],
		["send", "pause", "pause", "stop", "stop"],
	);
});

test("a lease is fresh for ten seconds, so that an attempt of five seconds ends before the engine counts as silent", () => {
	deepEqual(
		[500, 10_499, 10_500].map((monotonicMs) => isLeaseFresh(LEASE, monotonicMs)),
		[true, true, false],
	);
	equal(isLeaseFresh({ renewedAtMs: Number.NEGATIVE_INFINITY }, 0), false, "never renewed");
	equal(10_000 + 5_000 <= SILENT_MS, true);
});

test("an engine starts a request only if it runs, wants to send, and its lease is fresh", () => {
	const running: EngineState = { kind: "running", lease: LEASE };
	deepEqual(
		STATES.map((state) => maySend(state, "send", 600)),
		[false, true, false, false],
	);
	deepEqual(
		(["pause", "stop"] as const).map((intent) => maySend(running, intent, 600)),
		[false, false],
	);
	equal(maySend(running, "send", 10_500), false, "the lease is old");
});
