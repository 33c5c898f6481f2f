// Days, months and minutes in a time zone. Sums, filters and files use the network's zone. Mails about callbacks and
// accounts use the reader's, or the network's if the reader has chosen none. A day does not always have 24 hours or begin at 00:00.

import { type Result, refuse, succeed } from "./fault.ts";
import { DAY_MS, isoTime, MINUTE_MS, utcMinute, utcSecond } from "./time.ts";

/** Time zone of a network for which nobody has chosen a time zone. */
export const DEFAULT_ZONE = "UTC";

export const TIME_ZONES: readonly string[] = [
	DEFAULT_ZONE,
	...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== DEFAULT_ZONE),
];

/**
 * Parses the network's time zone. Only names are accepted, because an offset such as +01:00 does not know about
 * daylight saving time.
 */
export function parseTimeZone(text: string): Result<string> {
	const zone = text.trim();
	if (/^[A-Za-z]/.test(zone) && isTimeZone(zone)) return succeed(zone);
	return refuse(
		"invalid_field",
		`There is no time zone "${text}". Choose one from the list, such as Europe/Berlin.`,
		"timeZone",
	);
}

/**
 * Returns whether the text is a time zone as browsers report it: an IANA name, or an offset such as +05:30.
 */
export function isTimeZone(text: string): boolean {
	try {
		return new Intl.DateTimeFormat("en", { timeZone: text }).format(0) !== "";
	} catch {
		return false;
	}
}

export function isDay(text: string): boolean {
	if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
	try {
		Temporal.PlainDate.from(text);
		return true;
	} catch {
		return false;
	}
}

export function dayStartMs(day: string, zone: string): number {
	return startOf(Temporal.PlainDate.from(day), zone);
}

export function dayIn(atMs: number, zone: string): string {
	return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDate().toString();
}

/**
 * Returns the first day of a period of `count` days that ends with `lastDay`. The calendar is used, because a day may
 * have 23 or 25 hours.
 */
export function firstOfDays(lastDay: string, count: number): string {
	return Temporal.PlainDate.from(lastDay)
		.subtract({ days: count - 1 })
		.toString();
}

export function dayEndMs(day: string, zone: string): number {
	return startOf(Temporal.PlainDate.from(day).add({ days: 1 }), zone);
}

/** Returns the first and last day of a month. The month is `monthsBack` months before the present one. */
export function monthDays(nowMs: number, zone: string, monthsBack: number): { from: string; to: string } {
	const today = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone).toPlainDate();
	const first = today.with({ day: 1 }).subtract({ months: monthsBack });
	return { from: first.toString(), to: first.add({ months: 1 }).subtract({ days: 1 }).toString() };
}

/** Hour of Monday at which weekly mails are due, in the network's time zone. */
const WEEKLY_HOUR = 8;

/** Returns the time at which the weekly mails were last due, which is on a Monday morning. */
export function lastWeeklyMs(nowMs: number, zone: string): number {
	const today = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone).toPlainDate();
	const monday = today.subtract({ days: today.dayOfWeek - 1 });
	const dueMs = (day: Temporal.PlainDate) =>
		day.toZonedDateTime({ timeZone: zone, plainTime: new Temporal.PlainTime(WEEKLY_HOUR) }).epochMilliseconds;
	return dueMs(monday) <= nowMs ? dueMs(monday) : dueMs(monday.subtract({ days: 7 }));
}

/**
 * Parses the local time of a form field (2026-03-01T12:00, optionally with seconds), or returns null. If
 * clocks go back, a local time can occur twice. The first one is returned, so that a search from that time
 * misses nothing.
 */
export function minuteMs(minute: string, zone: string): number | null {
	if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/.test(minute)) return null;
	try {
		const at = Temporal.PlainDateTime.from(minute);
		return at.toZonedDateTime(zone, { disambiguation: "earlier" }).epochMilliseconds;
	} catch {
		// This line is reached if the date does not exist, such as 30 February.
		return null;
	}
}

/** Formats a time for mails, such as "2026-03-01 13:00 (Europe/Berlin)" or "2026-03-01 12:00 UTC". */
export function minuteIn(atMs: number, zone: string): string {
	if (zone === DEFAULT_ZONE || !isTimeZone(zone)) return utcMinute(atMs);
	const there = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDateTime();
	return `${there.toString({ smallestUnit: "minute" }).replace("T", " ")} (${zone})`;
}

/**
 * Cached formats that name the time of a zone, such as CEST. Creating a format takes longer than formatting all times
 * of a page.
 */
const zoneNames = new Map<string, Intl.DateTimeFormat>();

/** Formats a time for pages, with the short name of the zone's time: "2026-07-01 13:00:00 CEST" or "... GMT-4". */
export function secondIn(atMs: number, zone: string): string {
	if (zone === DEFAULT_ZONE) return utcSecond(atMs);
	const there = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDateTime();
	let names = zoneNames.get(zone);
	if (names === undefined) {
		names = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" });
		zoneNames.set(zone, names);
	}
	const name = names.formatToParts(atMs).find(({ type }) => type === "timeZoneName")?.value ?? zone;
	return `${there.toString({ fractionalSecondDigits: 0 }).replace("T", " ")} ${name}`;
}

/** A time in a zone for files: "2026-03-01T13:00:00.000+01:00", or with "Z" if the zone is UTC. */
export function isoTimeIn(atMs: number, zone: string): string {
	if (zone === DEFAULT_ZONE) return isoTime(atMs);
	const offsetMs = offsetAt(atMs, zone);
	const minutes = Math.abs(offsetMs) / MINUTE_MS;
	const [hour, minute] = [Math.floor(minutes / 60), Math.floor(minutes % 60)].map((part) =>
		String(part).padStart(2, "0"),
	);
	return `${isoTime(atMs + offsetMs).slice(0, -1)}${offsetMs < 0 ? "-" : "+"}${hour}:${minute}`;
}

/** Returns a day as the number of days from 1970-01-01 to the date of the moment in the zone. */
export function dayNumberIn(atMs: number, zone: string): number {
	return Math.floor((atMs + offsetAt(atMs, zone)) / DAY_MS);
}

/** A period in which a zone has the same offset from UTC. `fromMs` is included and `beforeMs` is excluded. */
export interface OffsetPeriod {
	fromMs: number;
	beforeMs: number;
	offsetMs: number;
}

/**
 * Returns the offset periods that cover a span, the earliest first. A zone with daylight saving time has two a year.
 */
export function offsetPeriods(zone: string, fromMs: number, beforeMs: number): OffsetPeriod[] {
	const periods = [offsetPeriodAt(fromMs, zone)];
	for (let last = periods[0]; last !== undefined && last.beforeMs < beforeMs; last = periods.at(-1)) {
		periods.push(offsetPeriodAt(last.beforeMs, zone));
	}
	return periods;
}

/** Period that was used last in each zone. A file with a million times needs only a few periods. */
const lastPeriods = new Map<string, OffsetPeriod>();

function offsetAt(atMs: number, zone: string): number {
	let period = lastPeriods.get(zone);
	if (period === undefined || atMs < period.fromMs || atMs >= period.beforeMs) {
		period = offsetPeriodAt(atMs, zone);
		lastPeriods.set(zone, period);
	}
	return period.offsetMs;
}

function offsetPeriodAt(atMs: number, zone: string): OffsetPeriod {
	const at = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone);
	// The previous transition is strictly earlier, so the search for it starts a millisecond later.
	const from = at.add({ milliseconds: 1 }).getTimeZoneTransition("previous");
	const next = at.getTimeZoneTransition("next");
	return {
		fromMs: from?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
		beforeMs: next?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
		offsetMs: at.offsetNanoseconds / 1_000_000,
	};
}

function startOf(day: Temporal.PlainDate, zone: string): number {
	return day.toZonedDateTime(zone).epochMilliseconds;
}

/** Returns the name of a month. For example, "2026-10" becomes "October 2026". */
export function sayMonth(month: string): string {
	return MONTH_NAME.format(Date.parse(`${month}-01`));
}

const MONTH_NAME = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });
