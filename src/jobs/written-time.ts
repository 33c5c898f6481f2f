// Times as spreadsheets and other software write them. Only unambiguous forms are accepted. 03/01/2026 is refused, because it
// may be in January or in March.

/** A day, or a day and a time with an offset or in UTC. */
const YEAR_FIRST =
	/^(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)(?: ?(Z|UTC|[+-]\d\d(?::?\d\d)?))?$/i;
/** The form of German, Polish, Czech, Nordic and other languages, in which the day always comes first. */
const DAY_FIRST = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? (\d{1,2})(:\d\d(?::\d\d)?))?$/;

/** Returns null if the text is not a valid time. A day without a time means midnight UTC. */
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
		// The text is, for example, the 30th of February or 24:00.
		return null;
	}
}
