import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { type ProcessEngine, type ProcessRecord, sumEngines } from "./process.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);

test("engines see their own slots only, so what they see is added up; a silent one does not count", () => {
	const engine = { inHand: 2, programmesDue: 3, oldestDueAtMs: NOW_MS - 2_000, mostInFlight: 512 };
	const later = { inHand: 5, programmesDue: 1, oldestDueAtMs: NOW_MS - 1_000, mostInFlight: 64 };
	const processes = [told(engine), told(later), told(null), told(engine, 0)];
	deepEqual(sumEngines(processes, NOW_MS), { inHand: 7, programmesDue: 4, oldestDueAtMs: NOW_MS - 2_000 });
	deepEqual(sumEngines([told(null), told(engine, 0)], NOW_MS), null, "nobody delivers");
});

function told(engine: ProcessEngine | null, seenAtMs = NOW_MS): ProcessRecord {
	const identity = { instance: "0a1b2c3d", host: "one", role: "all", version: "1.1.0", startedAtMs: 0 };
	return { ...identity, seenAtMs, engine, mailFailure: null };
}
