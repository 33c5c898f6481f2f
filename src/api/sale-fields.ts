// The fields by which a sale is reported, the same for the signed API and the pixel.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { currencyDigits, parseAmount } from "../domain/money.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { Programme } from "../store/programmes.ts";

/** As far as clocks may differ elsewhere too: contract section 8. */
const MAX_FUTURE_MS = 5 * MINUTE_MS;
/** No shop reports a sale from before; a time of 1970 is a clock that was never set. */
const EARLIEST_SALE_MS = Date.UTC(2000, 0, 1);

/** RFC 3339 with seconds and an offset. Hour 24 is not the standard's, though Date.parse makes the next day of it. */
export const TIME_PATTERN =
	"^(\\d{4}-\\d\\d-\\d\\d)T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)$";
const TIME = new RegExp(TIME_PATTERN);

/** The amount in canonical form, in the programme's currency. */
export function parseBasket(
	programme: Pick<Programme, "currency">,
	basketValue: string,
	currency: string | undefined,
): Result<string> {
	if (currency !== undefined) {
		const known = currencyDigits(currency);
		if (!known.ok) return known;
		if (currency !== programme.currency) {
			return refuse(
				"wrong_currency",
				`This programme is in ${programme.currency}. Convert the amount, or leave currency out.`,
				"currency",
			);
		}
	}
	return parseAmount(basketValue, programme.currency, "basketValue");
}

/** In milliseconds. */
export function parseOccurredAt(text: string, nowMs: number): Result<number> {
	const atMs = readRfc3339(text);
	if (atMs === undefined) {
		return invalidTime("must be a time such as 2026-03-01T12:00:00Z or 2026-03-01T13:00:00+01:00.");
	}
	if (atMs > nowMs + MAX_FUTURE_MS) {
		return invalidTime(`is in the future: here it is ${new Date(nowMs).toISOString()}. Check the clock.`);
	}
	if (atMs < EARLIEST_SALE_MS) return invalidTime("is before the year 2000. Check the clock.");
	return succeed(atMs);
}

function readRfc3339(text: string): number | undefined {
	const match = TIME.exec(text);
	const atMs = Date.parse(text);
	if (match === null || Number.isNaN(atMs)) return undefined;
	// Date.parse makes the second of March out of the thirtieth of February.
	const midnight = new Date(`${match[1]}T00:00:00Z`);
	return midnight.toISOString().startsWith(`${match[1]}T`) ? atMs : undefined;
}

function invalidTime(sentence: string): ReturnType<typeof refuse> {
	return refuse("invalid_field", `occurredAt ${sentence}`, "occurredAt");
}
