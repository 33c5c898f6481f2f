// Parses times as spreadsheets and other software write them. Only unambiguous forms are accepted. 03/01/2026
// is refused, because it may be in January or in March.

/** Matches a date that begins with the year, or such a date and a time in UTC or with an offset. */
const YEAR_FIRST =
	/^(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)(?: ?(Z|UTC|[+-]\d\d(?::?\d\d)?))?$/i;
/**
 * Matches a date that begins with the day, as in 1.3.2026. Languages such as German, Polish and Czech use
 * this form.
 */
const DAY_FIRST = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? (\d{1,2})(:\d\d(?::\d\d)?))?$/;

/** Parses a time. Returns null if the text is not a valid time. A date without a time means midnight UTC. */
export function readWrittenTime(text: string): number | null {
	const written = text.trim().replace(DAY_FIRST, (_, day, month, year, hour, minutes) => {
		const date = [year, month.padStart(2, "0"), day.padStart(2, "0")].join("-");
		return hour === undefined ? date : `${date} ${hour.padStart(2, "0")}${minutes}`;
	});
	const [, moment = "", zone = "Z"] = YEAR_FIRST.exec(written) ?? [];
	try {
		const there = Temporal.PlainDateTime.from(moment);
		return there.toZonedDateTime(/^[+-]/.test(zone) ? zone : "UTC").epochMilliseconds;
	} catch {
		// The date or time does not exist, such as 30 February or 24:00.
		return null;
	}
}
