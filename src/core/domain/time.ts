// Units of time in milliseconds, and functions that format times in UTC.

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
/**
 * A quarter of an hour, in which clicks and callbacks are counted. Every time zone differs from UTC by a multiple of it,
 * so that the days of each zone are made of whole quarters.
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
/**
 * The second that was formatted last, which is cached because thousands of callbacks are sent in one second.
 */
let keptSecond = 0;
let keptText = "1970-01-01T00:00:00";

/** Formats a time for mails and API sentences: "2026-03-01 12:00 UTC". */
export function utcMinute(atMs: number): string {
	return `${isoTime(atMs).slice(0, 16).replace("T", " ")} UTC`;
}

/** Formats a time as "2026-03-01 12:00:00 UTC". */
export function utcSecond(atMs: number): string {
	return `${isoTime(atMs).slice(0, 19).replace("T", " ")} UTC`;
}

/** Formats a day as "2026-03-01". */
export function utcDay(atMs: number): string {
	return isoTime(atMs).slice(0, 10);
}

// Checks whether the time of a sale is plausible.

/**
 * How far in the future the time of a sale may be, because clocks differ. It is the tolerance of contract
 * section 8.
 */
const MAX_FUTURE_MS = 5 * MINUTE_MS;
/** Earliest plausible sale. A time in 1970 comes from a clock that was never set. */
const EARLIEST_SALE_MS = Date.UTC(2000, 0, 1);

/**
 * Returns the end of a sentence that says why a sale cannot have this time, or null if the time is plausible.
 */
export function saleTimeProblem(atMs: number, nowMs: number): string | null {
	if (atMs > nowMs + MAX_FUTURE_MS) return `is in the future: here it is ${isoTime(nowMs)}.`;
	return atMs < EARLIEST_SALE_MS ? "is before the year 2000." : null;
}
