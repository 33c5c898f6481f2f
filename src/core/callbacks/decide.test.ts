// These tests give the engine's state as a value and compare the next step, so they need no clock and no database.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { decide, type EngineTimers, type Moment, type PassPlan, type Situation } from "./decide.ts";
import type { EngineState, Lease } from "./engine-state.ts";

const NOW: Moment = { nowMs: 1_000_000, monotonicMs: 50_000 };
const LEASE: Lease = { engineId: 1, renewedAtMs: NOW.monotonicMs - 1_000, isUncertain: false };
const OLD_LEASE: Lease = { ...LEASE, renewedAtMs: NOW.monotonicMs - 10_000 };
const RUNNING: EngineState = { kind: "running", lease: LEASE };
const LEAVING: EngineState = { kind: "leaving", lease: LEASE };
const NEVER_MS = Number.POSITIVE_INFINITY;

/**
 * An engine that owns three slots and has nothing to do for 400 ms. After that it checks whether callbacks are held.
 */
const QUIET: Situation = {
	state: RUNNING,
	intent: "send",
	inFlight: 0,
	slotCount: 3,
	idleSlots: [],
	readable: [],
	nextDueAtMs: NEVER_MS,
	results: { count: 0, storeAtCount: 1, storeAtMs: NEVER_MS },
	needsReread: false,
	timers: {
		renewAtMs: NOW.monotonicMs + 4_000,
		checkAtMs: NOW.monotonicMs + 30_000,
		patientUntilMs: Number.NEGATIVE_INFINITY,
		pollUntilMs: Number.NEGATIVE_INFINITY,
	},
	holdCheckAtMs: NOW.monotonicMs + 400,
};

const PLAN: PassPlan = {
	isRenewal: false,
	wantsSlots: true,
	removesSilent: true,
	reread: null,
	giveUp: [],
	isLast: false,
	reads: [],
};

const timers = (change: Partial<EngineTimers>): Partial<Situation> => ({
	timers: { ...QUIET.timers, ...change },
});
const results = (change: Partial<Situation["results"]>): Partial<Situation> => ({
	results: { ...QUIET.results, ...change },
});

describe("an engine without a row", () => {
	const UNREGISTERED: EngineState = { kind: "unregistered" };
	for (const [intent, step] of [
		["send", { kind: "register" }],
		["pause", { kind: "sleep", forMs: 400 }],
		["stop", { kind: "end" }],
	] as const) {
		test(`that is to ${intent}: ${step.kind}`, () => {
			deepEqual(decide({ ...QUIET, state: UNREGISTERED, intent }, NOW), step);
		});
	}
});

test("a stopped engine has no further step", () => {
	deepEqual(decide({ ...QUIET, state: { kind: "stopped" } }, NOW), { kind: "end" });
});

describe("an engine sleeps until", () => {
	const cases: readonly [title: string, change: Partial<Situation>, forMs: number][] = [
		["the next look for a hold", {}, 400],
		["the next programme is due, by the shared clock", { nextDueAtMs: NOW.nowMs + 300 }, 300],
		["the next renewal", timers({ renewAtMs: NOW.monotonicMs + 200 }), 200],
		["the next routine check", timers({ checkAtMs: NOW.monotonicMs + 100 }), 100],
		["its oldest result must be stored", results({ count: 0, storeAtMs: NOW.monotonicMs + 50 }), 50],
		[
			"the next poll, if another process wrote to the SQLite file",
			{ ...timers({ pollUntilMs: NOW.monotonicMs + 1 }), holdCheckAtMs: NOW.monotonicMs + 2_000 },
			1_000,
		],
		[
			"the next look for a hold, when it polls no more",
			{ ...timers({ pollUntilMs: NOW.monotonicMs }), holdCheckAtMs: NOW.monotonicMs + 2_000 },
			2_000,
		],
		["results are many, or old", results({ count: 3, storeAtCount: 4, storeAtMs: NOW.monotonicMs + 50 }), 50],
		["its requests in flight end, if it leaves", { state: LEAVING, intent: "pause", inFlight: 2 }, 400],
	];
	for (const [title, change, forMs] of cases) {
		test(title, () => deepEqual(decide({ ...QUIET, ...change }, NOW), { kind: "sleep", forMs }));
	}
});

describe("an engine runs a pass", () => {
	const reads = [{ receiverId: receiverId(7), limit: 8 }];
	const cases: readonly [title: string, change: Partial<Situation>, plan: Partial<PassPlan>][] = [
		["that reads due deliveries", { readable: reads }, { reads }],
		["that stores results if there are enough", results({ count: 2, storeAtCount: 2 }), {}],
		[
			"that stores a result whose time has come",
			results({ count: 1, storeAtCount: 9, storeAtMs: NOW.monotonicMs }),
			{},
		],
		["that renews its row in time", timers({ renewAtMs: NOW.monotonicMs }), { isRenewal: true }],
		[
			"that reads the first due rows as a routine, without a renewal",
			timers({ checkAtMs: NOW.monotonicMs }),
			{ reread: "routine" },
		],
		[
			"that reads the first due rows and renews if a notification may be missing",
			{ needsReread: true },
			{ reread: "requested", isRenewal: true },
		],
		[
			"that renews after a pass that may have been committed",
			{ state: { kind: "running", lease: { ...LEASE, isUncertain: true } } },
			{ isRenewal: true },
		],
		["that gives up slots of which nothing is in progress", { idleSlots: [4] }, { giveUp: [4] }],
		[
			"that removes no silent engine while it is patient",
			{ readable: reads, ...timers({ patientUntilMs: NOW.monotonicMs + 1 }) },
			{ reads, removesSilent: false },
		],
		[
			"that removes no silent engine while its own lease is old",
			{ readable: reads, state: { kind: "running", lease: OLD_LEASE } },
			{ reads, removesSilent: false },
		],
		[
			"whose check counts nothing as missed after the process was suspended",
			{ state: { kind: "running", lease: OLD_LEASE }, ...timers({ checkAtMs: NOW.monotonicMs }) },
			{ reread: "requested", isRenewal: true, removesSilent: false },
		],
		[
			"that gives up an idle slot and keeps a busy one, if it leaves",
			{ state: LEAVING, intent: "pause", inFlight: 1, idleSlots: [1, 2] },
			{ wantsSlots: false, giveUp: [1, 2] },
		],
		[
			"that stores the last results before the row is removed",
			{ state: LEAVING, intent: "stop", slotCount: 1, ...results({ count: 1, storeAtCount: 9 }) },
			{ wantsSlots: false },
		],
		[
			"that removes its row with its last slots",
			{ state: LEAVING, intent: "stop", idleSlots: [1, 2, 3] },
			{ wantsSlots: false, giveUp: [1, 2, 3], isLast: true },
		],
		[
			"that removes its row if it owns no slot",
			{ state: LEAVING, intent: "pause", slotCount: 0 },
			{ wantsSlots: false, isLast: true },
		],
		[
			"that keeps its row while it does not know which slots it owns",
			{
				state: { kind: "leaving", lease: { ...LEASE, isUncertain: true } },
				intent: "stop",
				slotCount: 0,
			},
			{ wantsSlots: false, isRenewal: true },
		],
	];
	for (const [title, change, plan] of cases) {
		test(title, () => {
			const situation = { ...QUIET, ...change };
			const { state } = situation;
			const lease = state.kind === "running" || state.kind === "leaving" ? state.lease : null;
			deepEqual(decide(situation, NOW), { kind: "pass", lease, plan: { ...PLAN, ...plan } });
		});
	}

	test("and not a millisecond before its time", () => {
		const early = { ...NOW, monotonicMs: NOW.monotonicMs - 1 };
		for (const change of [
			timers({ renewAtMs: NOW.monotonicMs }),
			timers({ checkAtMs: NOW.monotonicMs }),
			results({ count: 1, storeAtCount: 9, storeAtMs: NOW.monotonicMs }),
		]) {
			const situation = { ...QUIET, ...change };
			equal(decide(situation, early).kind, "sleep");
			equal(decide(situation, NOW).kind, "pass");
		}
	});
});
