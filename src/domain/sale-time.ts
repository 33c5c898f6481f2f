// When a sale can have been made, whoever reports it.

import { isoTime, MINUTE_MS } from "./time.ts";

/** As far as clocks may differ elsewhere too: contract section 8. */
const MAX_FUTURE_MS = 5 * MINUTE_MS;
/** No shop reports a sale from before; a time of 1970 is a clock that was never set. */
const EARLIEST_SALE_MS = Date.UTC(2000, 0, 1);

/** Null when it can; otherwise the end of a sentence. */
export function saleTimeProblem(atMs: number, nowMs: number): string | null {
	if (atMs > nowMs + MAX_FUTURE_MS) return `is in the future: here it is ${isoTime(nowMs)}.`;
	return atMs < EARLIEST_SALE_MS ? "is before the year 2000." : null;
}
