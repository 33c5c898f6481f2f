// Lengths of time in milliseconds, and how a moment is written for readers whose zone is not known.

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** "2026-03-01T12:00:00.000Z": ISO 8601 in UTC with milliseconds, for programs. */
export function isoTime(atMs: number): string {
	const second = Math.floor(atMs / SECOND_MS);
	if (second !== keptSecond) {
		keptText = new Date(second * SECOND_MS).toISOString().slice(0, -MILLISECONDS_TEXT.length);
		keptSecond = second;
	}
	return `${keptText}.${String(Math.trunc(atMs - second * SECOND_MS)).padStart(3, "0")}Z`;
}

const MILLISECONDS_TEXT = ".000Z";
/** Every callback says when it was sent, thousands in one second: only the milliseconds are written anew. */
let keptSecond = 0;
let keptText = "1970-01-01T00:00:00";

/** "2026-03-01 12:00 UTC": for mails and the sentences of the API. */
export function utcMinute(atMs: number): string {
	return `${isoTime(atMs).slice(0, 16).replace("T", " ")} UTC`;
}

/** "2026-03-01 12:00:00 UTC". */
export function utcSecond(atMs: number): string {
	return `${isoTime(atMs).slice(0, 19).replace("T", " ")} UTC`;
}

/** "2026-03-01". */
export function utcDay(atMs: number): string {
	return isoTime(atMs).slice(0, 10);
}

// When a sale can have been made, whoever reports it.

/** As far as clocks may differ elsewhere too: contract section 8. */
const MAX_FUTURE_MS = 5 * MINUTE_MS;
/** No shop reports a sale from before; a time of 1970 is a clock that was never set. */
const EARLIEST_SALE_MS = Date.UTC(2000, 0, 1);

/** Null when it can; otherwise the end of a sentence. */
export function saleTimeProblem(atMs: number, nowMs: number): string | null {
	if (atMs > nowMs + MAX_FUTURE_MS) return `is in the future: here it is ${isoTime(nowMs)}.`;
	return atMs < EARLIEST_SALE_MS ? "is before the year 2000." : null;
}
