// Days and minutes in a person's time zone. A day does not always have 24 hours or begin at 00:00.

import { utcMinute } from "./time.ts";

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

/** Returns the first moment of a day (YYYY-MM-DD) in a time zone. */
export function dayStartMs(day: string, zone: string): number {
	return startOf(Temporal.PlainDate.from(day), zone);
}

/** Returns the date (YYYY-MM-DD) of a moment in a time zone. */
export function dayIn(atMs: number, zone: string): string {
	return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDate().toString();
}

/** Returns the first moment after a day (YYYY-MM-DD) in a time zone. */
export function dayEndMs(day: string, zone: string): number {
	return startOf(Temporal.PlainDate.from(day).add({ days: 1 }), zone);
}

/** Returns the first and last day of a month. The month is `monthsBack` months before the present one. */
export function monthDays(nowMs: number, zone: string, monthsBack: number): { from: string; to: string } {
	const today = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone).toPlainDate();
	const first = today.with({ day: 1 }).subtract({ months: monthsBack });
	return { from: first.toString(), to: first.add({ months: 1 }).subtract({ days: 1 }).toString() };
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
		// The date does not exist, such as 30 February.
		return null;
	}
}

/**
 * Formats a time for mails, such as "2026-03-01 13:00 (Europe/Berlin)", or in UTC if the person has chosen no
 * zone.
 */
export function minuteIn(atMs: number, zone: string | null): string {
	if (zone === null || zone === "UTC" || !isTimeZone(zone)) return utcMinute(atMs);
	const there = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDateTime();
	return `${there.toString({ smallestUnit: "minute" }).replace("T", " ")} (${zone})`;
}

function startOf(day: Temporal.PlainDate, zone: string): number {
	return day.toZonedDateTime(zone).epochMilliseconds;
}
