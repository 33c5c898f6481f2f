// Days as people mean them: from midnight to midnight where they are. Not always 24 hours, and not always from 00:00.

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

/** The first moment after it. */
export function dayEndMs(day: string, zone: string): number {
	return startOf(Temporal.PlainDate.from(day).add({ days: 1 }), zone);
}

function startOf(day: Temporal.PlainDate, zone: string): number {
	return day.toZonedDateTime(zone).epochMilliseconds;
}
