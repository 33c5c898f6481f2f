// Units of time in milliseconds, and functions that format times in UTC.

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
/**
 * Length of the intervals in which clicks and callbacks are counted. Every time zone differs from UTC by a multiple
 * of a quarter of an hour, so the days of each zone consist of whole intervals.
 */
export const QUARTER_MS = 15 * MINUTE_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Formats a time for programs, in ISO 8601 with milliseconds: "2026-03-01T12:00:00.000Z". */
export function isoTime(atMs: number): string {
	const second = Math.floor(atMs / SECOND_MS);
	if (second !== keptSecond) {
		keptText = new Date(second * SECOND_MS).toISOString().slice(0, -MILLISECONDS_TEXT.length);
		keptSecond = second;
	}
	return `${keptText}.${String(Math.trunc(atMs - second * SECOND_MS)).padStart(3, "0")}Z`;
}

const MILLISECONDS_TEXT = ".000Z";
/** Second that was formatted last. Its text is cached, because thousands of callbacks are sent in one second. */
let keptSecond = 0;
let keptText = "1970-01-01T00:00:00";

/** Formats a time for mails and API sentences: "2026-03-01 12:00 UTC". */
export function utcMinute(atMs: number): string {
	return `${isoTime(atMs).slice(0, 16).replace("T", " ")} UTC`;
}

export function utcSecond(atMs: number): string {
	return `${isoTime(atMs).slice(0, 19).replace("T", " ")} UTC`;
}

export function utcDay(atMs: number): string {
	return isoTime(atMs).slice(0, 10);
}

// Checks whether the time of a sale is plausible.

/**
 * Maximum time by which a sale may lie in the future, because clocks differ. It is the tolerance of contract section
 * 8.
 */
const MAX_FUTURE_MS = 5 * MINUTE_MS;
/** Earliest plausible time of a sale. A time in 1970 comes from a clock that was never set. */
const EARLIEST_SALE_MS = Date.UTC(2000, 0, 1);

/**
 * Returns the end of a sentence that says why a sale cannot have this time, or null if the time is plausible.
 */
export function saleTimeProblem(atMs: number, nowMs: number): string | null {
	if (atMs > nowMs + MAX_FUTURE_MS) return `is in the future: here it is ${isoTime(nowMs)}.`;
	return atMs < EARLIEST_SALE_MS ? "is before the year 2000." : null;
}
