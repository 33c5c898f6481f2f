import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS, QUARTER_MS, utcDay } from "./time.ts";
import {
	dayEndMs,
	dayIn,
	dayNumberIn,
	dayStartMs,
	isDay,
	isoTimeIn,
	isTimeZone,
	minuteIn,
	minuteMs,
	offsetPeriods,
	parseTimeZone,
	secondIn,
} from "./zone-day.ts";

for (const [zone, day, start, hours] of [
	["UTC", "2026-11-15", "2026-11-15T00:00:00.000Z", 24],
	["Europe/Berlin", "2026-11-15", "2026-11-14T23:00:00.000Z", 24],
	["America/Los_Angeles", "2026-11-15", "2026-11-15T08:00:00.000Z", 24],
	["Pacific/Kiritimati", "2026-11-15", "2026-11-14T10:00:00.000Z", 24],
	["Asia/Kathmandu", "2026-11-15", "2026-11-14T18:15:00.000Z", 24],
	["+05:30", "2026-11-15", "2026-11-14T18:30:00.000Z", 24],
	["Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000Z", 23],
	["Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00.000Z", 25],
	["America/Los_Angeles", "2026-03-08", "2026-03-08T08:00:00.000Z", 23],
	// In Cairo clocks go forward at midnight, so this day begins at 01:00.
	["Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z", 23],
	["UTC", "2028-02-28", "2028-02-28T00:00:00.000Z", 24],
] as const) {
	test(`${day} in ${zone} begins at ${start} and has ${hours} hours`, () => {
		const startMs = dayStartMs(day, zone);
		equal(new Date(startMs).toISOString(), start);
		equal(dayEndMs(day, zone) - startMs, hours * HOUR_MS);
	});
}

test("a zone is a name that a browser may report, and nothing else", () => {
	const texts = ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "+05:30"];
	deepEqual(texts.map(isTimeZone), [true, true, true, true]);
	for (const text of ["", "Berlin", "Europe/Atlantis", "\0", "UTC ", "x".repeat(100)]) {
		equal(isTimeZone(text), false, text);
	}
});

for (const [minute, zone, at] of [
	["2026-11-15T12:30", "UTC", "2026-11-15T12:30:00.000Z"],
	["2026-11-15T12:30", "Europe/Berlin", "2026-11-15T11:30:00.000Z"],
	["2026-07-15T12:30:15", "Europe/Berlin", "2026-07-15T10:30:15.000Z"],
	["2026-07-15T12:30:15.5", "+05:30", "2026-07-15T07:00:15.500Z"],
	// If a local time occurs twice, the first one is returned. If it never occurs, the offset before the clock
	// change is used.
	["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
	["2026-03-29T02:30", "Europe/Berlin", "2026-03-29T00:30:00.000Z"],
] as const) {
	test(`${minute} in ${zone} is ${at}`, () => {
		equal(new Date(minuteMs(minute, zone) ?? 0).toISOString(), at);
	});
}

test("a day is a date of the calendar, and nothing else", () => {
	for (const day of ["2026-03-01", "2028-02-29"]) equal(isDay(day), true, day);
	for (const text of ["2026-02-30", "2026-13-01", "x", "", "2026-3-1", "2026-03-01T00:00"])
		equal(isDay(text), false, text);
});

test("an invalid minute is null", () => {
	for (const text of [
		"",
		"yesterday",
		"2026-02-30T10:00",
		"2026-03-01",
		"2026-03-01T24:30",
		"2026-03-01T12:00Z",
	])
		equal(minuteMs(text, "UTC"), null, text);
});

for (const [zone, written] of [
	["UTC", "2026-03-01 12:00 UTC"],
	["Europe/Berlin", "2026-03-01 13:00 (Europe/Berlin)"],
	["America/Los_Angeles", "2026-03-01 04:00 (America/Los_Angeles)"],
	["Nowhere/Atlantis", "2026-03-01 12:00 UTC"],
] as const) {
	test(`a minute for a person in ${zone} is ${written}`, () =>
		equal(minuteIn(Date.UTC(2026, 2, 1, 12, 0, 59), zone), written));
}

for (const [zone, at, written] of [
	["UTC", "2026-11-18T01:26:57.123Z", "2026-11-18T01:26:57.123Z"],
	["Europe/Berlin", "2026-11-18T01:26:57.123Z", "2026-11-18T02:26:57.123+01:00"],
	["Europe/Berlin", "2026-10-25T00:59:59.999Z", "2026-10-25T02:59:59.999+02:00"],
	["Europe/Berlin", "2026-10-25T01:00:00.000Z", "2026-10-25T02:00:00.000+01:00"],
	["Asia/Kathmandu", "2026-11-18T01:26:57.123Z", "2026-11-18T07:11:57.123+05:45"],
	["America/St_Johns", "2026-11-18T01:26:57.123Z", "2026-11-17T21:56:57.123-03:30"],
] as const) {
	test(`a file writes ${at} in ${zone} as ${written}`, () => {
		equal(isoTimeIn(Date.parse(at), zone), written);
		equal(Date.parse(isoTimeIn(Date.parse(at), zone)), Date.parse(at));
	});
}

test("a page writes a time in a zone with the name of its time", () => {
	const summer = Date.parse("2027-03-31T22:30:12.999Z");
	const winter = Date.parse("2027-01-31T23:30:00Z");
	for (const [atMs, zone, written] of [
		[summer, "UTC", "2027-03-31 22:30:12 UTC"],
		[summer, "Europe/Berlin", "2027-04-01 00:30:12 CEST"],
		[winter, "Europe/Berlin", "2027-02-01 00:30:00 CET"],
		[summer, "America/New_York", "2027-03-31 18:30:12 GMT-4"],
		[summer, "Asia/Kathmandu", "2027-04-01 04:15:12 GMT+5:45"],
	] as const) {
		equal(secondIn(atMs, zone), written);
	}
});

test("the number of a day agrees with its date, in every quarter of an hour of two years", () => {
	for (const zone of [
		"UTC",
		"Europe/Berlin",
		"Asia/Kolkata",
		"Asia/Kathmandu",
		"Africa/Cairo",
		"America/St_Johns",
	]) {
		const startMs = Date.UTC(2026, 0, 1);
		const periods = offsetPeriods(zone, startMs, startMs + 730 * DAY_MS);
		for (let atMs = startMs; atMs < startMs + 730 * DAY_MS; atMs += 7 * QUARTER_MS) {
			const day = dayNumberIn(atMs, zone);
			if (utcDay(day * DAY_MS) !== dayIn(atMs, zone)) equal(utcDay(day * DAY_MS), dayIn(atMs, zone), zone);
			const offsetMs = periods.find(({ beforeMs }) => atMs < beforeMs)?.offsetMs ?? 0;
			if (Math.floor((atMs + offsetMs) / DAY_MS) !== day) equal(Math.floor((atMs + offsetMs) / DAY_MS), day);
		}
		equal(dayStartMs("2026-07-01", zone) % QUARTER_MS, 0, "days are made of whole quarters of an hour");
	}
});

test("the network's time zone is a name, and an offset or an unknown name is refused", () => {
	for (const zone of ["UTC", "Europe/Berlin", "Asia/Kolkata", " Asia/Kathmandu "]) {
		deepEqual(parseTimeZone(zone), { ok: true, value: zone.trim() });
	}
	for (const text of ["", "+01:00", "Berlin", "Mars/Olympus"]) {
		const refused = parseTimeZone(text);
		deepEqual(!refused.ok && [refused.fault.code, refused.fault.field], ["invalid_field", "timeZone"], text);
	}
});
