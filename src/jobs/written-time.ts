// A moment as spreadsheets and other software write it. Only what can be read in one way: of 03/01/2026 nobody knows
// whether it is in January or in March.

/** A day, or a day and a time; with an offset, or in UTC. */
const YEAR_FIRST =
	/^(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)(?: ?(Z|UTC|[+-]\d\d(?::?\d\d)?))?$/i;
/** German, Polish, Czech, Nordic and more; the day comes first in all of them. */
const DAY_FIRST = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? (\d{1,2})(:\d\d(?::\d\d)?))?$/;

/** Null for what is no moment. A day without a time begins at midnight, UTC. */
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
		// The 30th of February, 24:00, or no time at all.
		return null;
	}
}
