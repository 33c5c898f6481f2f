// A moment as spreadsheets and other software write it. Only what can be read in one way: of 03/01/2026 nobody knows
// whether it is in January or in March.

/** A day, or a day and a time; with an offset, or in UTC. */
const YEAR_FIRST =
	/^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?(Z|UTC|[+-]\d\d(?::?\d\d)?))?)?$/i;
/** German, Polish, Czech, Nordic and more; the day comes first in all of them. */
const DAY_FIRST = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? (\d{1,2}):(\d\d)(?::(\d\d))?)?$/;

/** Null for what is no moment. A day without a time begins at midnight, UTC. */
export function readWrittenTime(text: string): number | null {
	const written = text.trim();
	const yearFirst = YEAR_FIRST.exec(written);
	if (yearFirst !== null) {
		const [, year, month, day, hour, minute, second, fraction, zone] = yearFirst;
		const atMs = momentOf({ year, month, day, hour, minute, second });
		const fractionMs = Math.trunc(Number(`0.${fraction ?? "0"}`) * 1_000);
		const offset = offsetMs(zone);
		return atMs === null || offset === null ? null : atMs + fractionMs - offset;
	}
	const dayFirst = DAY_FIRST.exec(written);
	if (dayFirst === null) return null;
	const [, day, month, year, hour, minute, second] = dayFirst;
	return momentOf({ year, month, day, hour, minute, second });
}

type Parts = Readonly<Record<"year" | "month" | "day" | "hour" | "minute" | "second", string | undefined>>;

function momentOf(parts: Parts): number | null {
	const [year, month, day] = [Number(parts.year), Number(parts.month), Number(parts.day)];
	const [hour, minute, second] = [parts.hour, parts.minute, parts.second].map((text) => Number(text ?? "0"));
	if (hour === undefined || minute === undefined || second === undefined) return null;
	if (hour > 23 || minute > 59 || second > 59) return null;
	const midnightMs = Date.UTC(year, month - 1, day);
	// The thirtieth of February would be one in March.
	const midnight = new Date(midnightMs);
	if (midnight.getUTCFullYear() !== year || midnight.getUTCMonth() !== month - 1) return null;
	if (midnight.getUTCDate() !== day) return null;
	return midnightMs + ((hour * 60 + minute) * 60 + second) * 1_000;
}

function offsetMs(zone: string | undefined): number | null {
	const match = /^([+-])(\d\d):?(\d\d)?$/.exec(zone ?? "");
	if (match === null) return 0;
	const [hours, minutes] = [Number(match[2]), Number(match[3] ?? "0")];
	if (hours > 23 || minutes > 59) return null;
	return (match[1] === "-" ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
