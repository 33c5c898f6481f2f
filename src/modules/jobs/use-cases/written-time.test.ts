import { equal } from "node:assert/strict";
import { test } from "node:test";
import { isoTime } from "#core/domain/time.ts";
import { readWrittenTime } from "./written-time.ts";

const READ: readonly [text: string, iso: string | null][] = [
	["2026-03-01", "2026-03-01T00:00:00.000Z"],
	[" 2026-03-01 12:30 ", "2026-03-01T12:30:00.000Z"],
	["2026-03-01 12:30:15", "2026-03-01T12:30:15.000Z"],
	["2026-03-01T12:30:15.25Z", "2026-03-01T12:30:15.250Z"],
	["2026-03-01T12:30:15,999999999Z", "2026-03-01T12:30:15.999Z"],
	["2026-03-01 12:30:00 UTC", "2026-03-01T12:30:00.000Z"],
	["2026-03-01T12:30:00+01:00", "2026-03-01T11:30:00.000Z"],
	["2026-03-01T00:30:00+0100", "2026-02-28T23:30:00.000Z"],
	["2026-03-01T12:30:00-05", "2026-03-01T17:30:00.000Z"],
	["01.03.2026", "2026-03-01T00:00:00.000Z"],
	["1.3.2026 9:05", "2026-03-01T09:05:00.000Z"],
	["01.03.2026, 23:59:59", "2026-03-01T23:59:59.000Z"],
	["2024-02-29", "2024-02-29T00:00:00.000Z"],
	// Days and times that do not exist are refused.
	["2026-02-29", null],
	["30.02.2026", null],
	["2026-13-01", null],
	["2026-00-10", null],
	["2026-03-01 24:00", null],
	["2026-03-01 12:60", null],
	["2026-03-01T12:30:00+24:00", null],
	// Texts that could mean two different days are refused.
	["03/01/2026", null],
	["1/3/26", null],
	["", null],
	["yesterday", null],
	["46082", null],
	["2026-03-01Z12:00", null],
];

for (const [text, iso] of READ) {
	test(`reads “${text}” as ${iso ?? "no valid time"}`, () => {
		const atMs = readWrittenTime(text);
		equal(atMs === null ? null : isoTime(atMs), iso);
	});
}
