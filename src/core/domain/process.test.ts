import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { NO_ENGINE, type ProcessEngine, type ProcessRecord, sumEngines } from "./process.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);

test("the figures of all running engines are added up, and a silent engine does not count", () => {
	const engine = { in_hand: 2, programmes_due: 3, oldest_due_at_ms: NOW_MS - 2_000, most_in_flight: 512 };
	const later = { in_hand: 5, programmes_due: 1, oldest_due_at_ms: NOW_MS - 1_000, most_in_flight: 64 };
	const processes = [recordOf(engine), recordOf(later), recordOf(NO_ENGINE), recordOf(engine, 0)];
	deepEqual(sumEngines(processes, NOW_MS), { inHand: 7, programmesDue: 4, oldestDueAtMs: NOW_MS - 2_000 });
	deepEqual(sumEngines([recordOf(NO_ENGINE), recordOf(engine, 0)], NOW_MS), null, "nobody delivers");
});

function recordOf(engine: ProcessEngine, seen_at_ms = NOW_MS): ProcessRecord {
	const identity = { instance: "0a1b2c3d", host: "one", role: "all", version: "1.0.0", started_at_ms: 0 };
	return { ...identity, seen_at_ms, ...engine, mail_failed_at_ms: null, mail_error: null };
}
