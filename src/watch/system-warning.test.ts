import { deepEqual, doesNotMatch, match } from "node:assert/strict";
import { describe, test } from "node:test";
import type { ProcessRecord } from "../domain/process.ts";
import { findSystemWarnings, lastMailFailure, type SystemState } from "./system-warning.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const WORKER: ProcessRecord = {
	instance: "0a1b2c3d",
	host: "one",
	role: "all",
	version: "1.0.0",
	startedAtMs: NOW_MS - 3_600_000,
	seenAtMs: NOW_MS - 5_000,
	engine: { inHand: 2, programmesDue: 1, oldestDueAtMs: NOW_MS - 2_000, mostInFlight: 512 },
	mailFailure: null,
};
const WEB: ProcessRecord = { ...WORKER, instance: "1a1b2c3d", role: "web", engine: null };
const SOUND: SystemState = {
	schema: { version: 1, known: 1 },
	processes: [WORKER, WEB],
	disk: { freeBytes: 50, sizeBytes: 100 },
	backedUpAtMs: NOW_MS - 86_400_000,
};

describe("what staff are warned of", () => {
	const cases: readonly [title: string, change: Partial<SystemState>, kinds: readonly string[]][] = [
		["a sound installation", {}, []],
		["nobody has told of itself yet", { processes: [] }, []],
		["no worker", { processes: [WEB] }, ["no_worker"]],
		["a worker that holds callbacks on purpose", { processes: [{ ...WORKER, engine: null }, WEB] }, []],
		[
			"a worker that has been silent for just a minute",
			{ processes: [{ ...WORKER, seenAtMs: NOW_MS - 60_000 }] },
			[],
		],
		[
			"a worker that has been silent for longer",
			{ processes: [{ ...WORKER, seenAtMs: NOW_MS - 60_001 }, WEB] },
			["no_worker", "process_silent"],
		],
		["two versions", { processes: [WORKER, { ...WEB, version: "1.1.0" }] }, ["mixed_versions"]],
		[
			"two versions, one of them silent",
			{ processes: [WORKER, { ...WEB, version: "1.1.0", seenAtMs: 0 }] },
			["process_silent"],
		],
		[
			"a callback that has been due for five minutes",
			{
				processes: [
					{
						...WORKER,
						engine: { inHand: 0, programmesDue: 1, oldestDueAtMs: NOW_MS - 300_000, mostInFlight: 512 },
					},
				],
			},
			["queue_overdue"],
		],
		[
			"a mail server that refuses",
			{ processes: [{ ...WORKER, mailFailure: { atMs: NOW_MS - 1, reason: "550 no" } }] },
			["mail_failing"],
		],
		["an old schema", { schema: { version: 1, known: 2 } }, ["schema_differs"]],
		["a new schema", { schema: { version: 3, known: 2 } }, ["schema_differs"]],
		["a database that was never backed up by us", { backedUpAtMs: null }, []],
		["a backup of almost three days", { backedUpAtMs: NOW_MS - 3 * 86_400_000 + 1 }, []],
		["a backup of three days", { backedUpAtMs: NOW_MS - 3 * 86_400_000 }, ["backup_old"]],
		["a disk with a tenth left", { disk: { freeBytes: 10, sizeBytes: 100 } }, []],
		["a disk with less", { disk: { freeBytes: 9, sizeBytes: 100 } }, ["disk_filling"]],
		["a disk that nobody can see", { disk: null }, []],
	];
	for (const [title, change, kinds] of cases) {
		test(title, () => {
			const warnings = findSystemWarnings({ ...SOUND, ...change }, NOW_MS);
			deepEqual(
				warnings.map(({ kind }) => kind),
				kinds,
			);
			for (const warning of warnings) match(warning.text, /^[A-Z].*\.$/);
		});
	}
});

test("of a process that fell silent it says how many callbacks may be sent again, and by which process", () => {
	const silent = { ...WORKER, instance: "2a1b2c3d", seenAtMs: 0 };
	const text = (gone: ProcessRecord, ...alive: ProcessRecord[]) =>
		findSystemWarnings({ ...SOUND, processes: [gone, ...alive] }, NOW_MS).at(-1)?.text ?? "";
	match(
		text(silent, WORKER),
		/Another process has taken over its programmes, and sends again the callbacks that were in flight \(at most 512\)/,
	);
	match(
		text(silent, WEB),
		/Its programmes wait until a process sends callbacks, which sends again .* \(at most 512\)/,
	);
	match(
		text(silent, { ...WORKER, engine: null }),
		/Its programmes wait/,
		"one that holds callbacks sends none",
	);
	const ofOld = {
		...silent,
		engine: { inHand: 2, programmesDue: 0, oldestDueAtMs: null, mostInFlight: null },
	};
	match(text(ofOld, WORKER), /that were in flight: their shops/, "a process of 1.0.0 did not say how many");
	doesNotMatch(text({ ...silent, role: "web", engine: null }, WORKER), /callbacks/);
});

test("the last mail failure is the newest of all processes", () => {
	const failed = (atMs: number) => ({ ...WORKER, mailFailure: { atMs, reason: `at ${atMs}` } });
	deepEqual(lastMailFailure([failed(1), failed(3), failed(2), WEB]), { atMs: 3, reason: "at 3" });
	deepEqual(lastMailFailure([WEB]), null);
});
