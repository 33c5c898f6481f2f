// Days and minutes as people mean them: by the clock where they are. A day is not always 24 hours, nor from 00:00.

import { utcMinute } from "./time.ts";

/** By its IANA name, or an offset such as +05:30: what a browser says of itself. */
export function isTimeZone(text: string): boolean {
	try {
		return new Intl.DateTimeFormat("en", { timeZone: text }).format(0) !== "";
	} catch {
		return false;
	}
}

/** The first moment of a day (YYYY-MM-DD). */
export function dayStartMs(day: string, zone: string): number {
	return startOf(Temporal.PlainDate.from(day), zone);
}

/** The day of a moment there. */
export function dayIn(atMs: number, zone: string): string {
	return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDate().toString();
}

/** The first moment after it. */
export function dayEndMs(day: string, zone: string): number {
	return startOf(Temporal.PlainDate.from(day).add({ days: 1 }), zone);
}

/** The first and the last day of the present month, or of one that many before it. */
export function monthDays(nowMs: number, zone: string, monthsBack: number): { from: string; to: string } {
	const today = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone).toPlainDate();
	const first = today.with({ day: 1 }).subtract({ months: monthsBack });
	return { from: first.toString(), to: first.add({ months: 1 }).subtract({ days: 1 }).toString() };
}

/**
 * A minute as a form has it (2026-03-01T12:00, perhaps with seconds); null when there is none such. Where the clock is
 * set back an hour comes twice, and the first one is meant: what is asked for since then is then not left out.
 */
export function minuteMs(minute: string, zone: string): number | null {
	if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/.test(minute)) return null;
	try {
		const at = Temporal.PlainDateTime.from(minute);
		return at.toZonedDateTime(zone, { disambiguation: "earlier" }).epochMilliseconds;
	} catch {
		// The 30th of February.
		return null;
	}
}

/** "2026-03-01 13:00 (Europe/Berlin)", for mails; in UTC for whoever has chosen no zone. */
export function minuteIn(atMs: number, zone: string | null): string {
	if (zone === null || zone === "UTC" || !isTimeZone(zone)) return utcMinute(atMs);
	const there = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDateTime();
	return `${there.toString({ smallestUnit: "minute" }).replace("T", " ")} (${zone})`;
}

function startOf(day: Temporal.PlainDate, zone: string): number {
	return day.toZonedDateTime(zone).epochMilliseconds;
}
