// Defines the fields of a sale, which the signed API and the pixel share. Handlers check types with these schemas, and
// the API reference takes its descriptions from them. The functions in this file check rules that no schema can
// express, each with its own fault code.

import * as z from "zod";
import type { Report } from "../conversions/report.ts";
import { EVENT_TYPES, parseEventType, REASONS } from "../domain/conversion.ts";
import { type Checked, checkAll, type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import { currencyDigits, MAX_CURRENCY_DIGITS, MAX_WHOLE_DIGITS, parseAmount } from "../domain/money.ts";
import { MAX_ORDER_ID_CHARACTERS, parseOrderId } from "../domain/order-id.ts";
import { saleTimeProblem } from "../domain/time.ts";
import { isDay } from "../domain/zone-day.ts";
import type { Programme } from "../store/queries/programmes.ts";

/**
 * Pattern of an RFC 3339 time with seconds and an offset. Hour 24 is refused, because the standard does not
 * allow it, although Date.parse accepts it as the next day.
 */
const TIME_PATTERN =
	"^(\\d{4}-\\d\\d-\\d\\d)T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)$";
const TIME = new RegExp(TIME_PATTERN);

/** Values of the example order. */
export const EXAMPLE_PROGRAM_ID = "prg_01KJ9V5C00ABCDEFGHJKMNPQRS";
export const EXAMPLE_CONVERSION_ID = "cnv_01KJ9XMZ00ABCDEFGHJKMNPQRS";
export const EXAMPLE_ORDER_ID = "ORDER-1001";
export const EXAMPLE_CURSOR = "mJx0Yw9Vq3bT5kL1ZrE8Sg";

/**
 * Pattern of a character that is not a control character. It is written with \x escapes, which the regular
 * expressions of every language understand.
 */
const NO_CONTROL_CHARACTER = "[^\\x00-\\x1F\\x7F-\\x9F]";
const NO_SPACE_EITHER = "[^\\s\\x00-\\x1F\\x7F-\\x9F]";
/** Pattern of a name that a shop gives to something. */
export const NAME_PATTERN = `^${NO_SPACE_EITHER}(${NO_CONTROL_CHARACTER}*${NO_SPACE_EITHER})?$`;

export const ORDER_ID = z.string().meta({
	minLength: 1,
	maxLength: MAX_ORDER_ID_CHARACTERS,
	pattern: NAME_PATTERN,
	description:
		"The shop's own name for the order: any text that does not start or end with white space and contains no control characters, no line breaks and no characters that cannot be seen, such as zero-width spaces, direction marks and variation selectors. It is compared as it is and nothing is trimmed, so spell it the same everywhere.",
	examples: [EXAMPLE_ORDER_ID],
});

const EVENT_TYPE = z.string().meta({
	enum: EVENT_TYPES,
	description: "The kind of conversion. An order can have one of each kind.",
	examples: ["SALE"],
});

/** Pattern for amounts in requests and answers. The number of decimals depends on the currency. */
export const AMOUNT_PATTERN = `^(0|[1-9][0-9]{0,${MAX_WHOLE_DIGITS - 1}})(\\.[0-9]{1,${MAX_CURRENCY_DIGITS}})?$`;

const BASKET_VALUE = z.string().meta({
	pattern: AMOUNT_PATTERN,
	description:
		"The order's value as a decimal string, never a JSON number, with at most as many decimals as the currency has. Whether it contains VAT and shipping is agreed for the programme: `GET /v1/programme` says it.",
	examples: ["129.90"],
});

export const CURRENCY_PATTERN = "^[A-Z]{3}$";

export const CURRENCY = z.string().meta({
	pattern: CURRENCY_PATTERN,
	description: "ISO 4217 code. It must be the programme's currency, which is also the default.",
	examples: ["EUR"],
});

export const OCCURRED_AT = z.string().meta({
	format: "date-time",
	pattern: TIME_PATTERN,
	description:
		"The time of the sale: RFC 3339 with seconds and an offset or `Z`, not before the year 2000 and at most five minutes in the future. The default is now.",
	examples: ["2026-03-01T12:30:00+01:00"],
});

/** Returns the schema of a query parameter that contains a time. */
export function momentField(description: string) {
	return z.string().meta({
		description: `${description} RFC 3339 with seconds and an offset or \`Z\`, or a day, which begins at midnight UTC.`,
		examples: ["2026-03-01T00:00:00Z"],
	});
}

export const TEST = z.boolean().meta({
	description:
		"True for a test conversion. It follows every rule, its events have `test: true`, and no total counts it.",
	examples: [false],
});

const REASON = z.string().meta({
	enum: REASONS,
	description: "The reason. The shop's records and the service's show the same word.",
	examples: ["RETURN"],
});

/** The fields that identify an order. */
const ORDER_NAME = { orderId: ORDER_ID, eventType: EVENT_TYPE.default("SALE") };
export const SALE = { ...ORDER_NAME, basketValue: BASKET_VALUE, currency: CURRENCY.optional() };

export const APPROVAL_BODY = z.strictObject(ORDER_NAME);
/**
 * Body of a rejection or a reversal. The schema treats the reason as optional, because a missing reason has a
 * fault code of its own.
 */
export const REASONED_BODY = APPROVAL_BODY.extend({ reason: REASON.optional() });

/**
 * Returns the order id that a call contains, for the inbound log. It also finds the id in a call that is
 * refused for another reason.
 */
export function mentionedOrderId(input: unknown): string | null {
	if (typeof input !== "object" || input === null || !("orderId" in input)) return null;
	if (typeof input.orderId !== "string") return null;
	const orderId = parseOrderId(input.orderId);
	return orderId.ok ? orderId.value : null;
}

export function parseOrderName(fields: {
	orderId: string;
	eventType: string;
}): Result<Pick<Report, "orderId" | "eventType">> {
	return checkAll({ orderId: parseOrderId(fields.orderId), eventType: parseEventType(fields.eventType) });
}

export function parseSale(
	programme: Pick<Programme, "currency" | "archived_at_ms">,
	fields: z.output<z.ZodObject<typeof SALE>>,
): Result<Pick<Report, "orderId" | "eventType" | "basketValue">> {
	// A sale that arrives in the same second may still be recorded, because processes cache programmes. Such a sale is
	// decided like any other.
	if (programme.archived_at_ms !== null) return refusalOf("programme_archived", {});
	return checkAll({
		orderId: parseOrderId(fields.orderId),
		eventType: parseEventType(fields.eventType),
		basketValue: parseBasket(programme, fields.basketValue, fields.currency),
	});
}

/** Parses the amount in the programme's currency and returns it in canonical form. */
function parseBasket(
	programme: Pick<Programme, "currency">,
	basketValue: string,
	currency: string | undefined,
): Result<string> {
	if (currency !== undefined) {
		const digits = currencyDigits(currency);
		if (!digits.ok) return digits;
		if (currency !== programme.currency) {
			return refusalOf("wrong_currency", { currency: programme.currency });
		}
	}
	return parseAmount(basketValue, programme.currency, "basketValue");
}

/** Parses the time of a sale and returns it in milliseconds. */
export function parseOccurredAt(text: string, nowMs: number): Result<number> {
	const atMs = readRfc3339(text);
	if (atMs === undefined) {
		const rule = "must be a time such as 2026-03-01T12:00:00Z or 2026-03-01T13:00:00+01:00.";
		return invalidTime(sayMissingDay(text) ?? rule);
	}
	const problem = saleTimeProblem(atMs, nowMs);
	return problem === null ? succeed(atMs) : invalidTime(`${problem} Check the clock.`);
}

/**
 * Parses the start or the end of a list's period and returns it in milliseconds. The text is a time, or a day
 * that begins at midnight UTC.
 */
export function parseMoment(name: string, text: string): Result<number> {
	const atMs = readRfc3339(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
	if (atMs !== undefined && atMs >= 0) return succeed(atMs);
	const rule =
		"must be a time such as 2026-03-01T13:00:00Z or a day such as 2026-03-01 (from midnight UTC). Write + as %2B in a query.";
	return refuse("invalid_field", `${name} ${sayMissingDay(text) ?? rule}`, name);
}

/**
 * If the text begins with a day that the calendar does not have, such as 30 February, returns the end of a sentence
 * that says so, otherwise null. Such a text has the right form, so naming the form would not help.
 */
export function sayMissingDay(text: string): string | null {
	const day = /^\d{4}-\d\d-\d\d(?=T|t|$)/.exec(text)?.[0];
	return day === undefined || isDay(day) ? null : `has the day ${day}, which does not exist.`;
}

/** Parses the named times of a query. Names that the query does not have are left out. */
export function parseMoments<Name extends string>(
	names: readonly Name[],
	query: { readonly [Each in Name]?: string | undefined },
): Checked<Partial<Record<Name, number>>> {
	const given = names.flatMap((name) => {
		const text = query[name];
		return text === undefined ? [] : [[name, parseMoment(name, text)] as const];
	});
	return checkAll<Partial<Record<string, number>>>(Object.fromEntries(given));
}

function readRfc3339(text: string): number | undefined {
	const match = TIME.exec(text);
	const atMs = Date.parse(text);
	if (match === null || Number.isNaN(atMs)) return undefined;
	// Date.parse accepts 30 February as 2 March, so the date is formatted again and compared.
	const midnight = new Date(`${match[1]}T00:00:00Z`);
	return midnight.toISOString().startsWith(`${match[1]}T`) ? atMs : undefined;
}

function invalidTime(sentence: string): ReturnType<typeof refuse> {
	return refuse("invalid_field", `occurredAt ${sentence}`, "occurredAt");
}
