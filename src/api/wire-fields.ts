// The fields of a sale as they come over the wire: what the handlers check types with, and what the reference
// says of each. The finer rules stay in domain/, because each has a fault code of its own.

import * as z from "zod";
import { EVENT_TYPES, REASONS } from "../domain/conversion.ts";
import { MAX_CURRENCY_DIGITS, MAX_WHOLE_DIGITS } from "../domain/money.ts";
import { MAX_ORDER_ID_CHARACTERS } from "../domain/order-id.ts";
import { TIME_PATTERN } from "./sale-fields.ts";

/** Of the one order that every example tells of. */
export const EXAMPLE_PROGRAM_ID = "prg_01KJ9V5C00ABCDEFGHJKMNPQRS";
export const EXAMPLE_CONVERSION_ID = "cnv_01KJ9XMZ00ABCDEFGHJKMNPQRS";
export const EXAMPLE_ORDER_ID = "ORDER-1001";

/** Written with \x, which the regular expressions of every language know. */
const NO_CONTROL_CHARACTER = "[^\\x00-\\x1F\\x7F-\\x9F]";
const NO_SPACE_EITHER = "[^\\s\\x00-\\x1F\\x7F-\\x9F]";

export const ORDER_ID = z.string().meta({
	minLength: 1,
	maxLength: MAX_ORDER_ID_CHARACTERS,
	pattern: `^${NO_SPACE_EITHER}(${NO_CONTROL_CHARACTER}*${NO_SPACE_EITHER})?$`,
	description:
		"The shop's own name for the order: any text that does not start or end with white space and holds no control characters, no line breaks and no characters that cannot be seen, such as zero-width spaces, direction marks and variation selectors. It is compared as it is and nothing is trimmed, so spell it the same everywhere.",
	examples: [EXAMPLE_ORDER_ID],
});

export const EVENT_TYPE = z.string().meta({
	enum: EVENT_TYPES,
	description: "The kind of conversion. An order can have one of each kind.",
	examples: ["SALE"],
});

/** In either direction; how many decimals there may be depends on the currency. */
export const AMOUNT_PATTERN = `^(0|[1-9][0-9]{0,${MAX_WHOLE_DIGITS - 1}})(\\.[0-9]{1,${MAX_CURRENCY_DIGITS}})?$`;

export const BASKET_VALUE = z.string().meta({
	pattern: AMOUNT_PATTERN,
	description:
		"The order's value as a decimal string, never a JSON number, with at most as many decimals as the currency has.",
	examples: ["129.90"],
});

export const CURRENCY_PATTERN = "^[A-Z]{3}$";

export const CURRENCY = z.string().meta({
	pattern: CURRENCY_PATTERN,
	description: "ISO 4217 code. It must be the programme's own, which is also what is meant without it.",
	examples: ["EUR"],
});

export const OCCURRED_AT = z.string().meta({
	format: "date-time",
	pattern: TIME_PATTERN,
	description:
		"The time of the sale: RFC 3339 with seconds and an offset or `Z`, not before the year 2000 and at most five minutes in the future. Without it, now.",
	examples: ["2026-03-01T12:30:00+01:00"],
});

export const TEST = z.boolean().meta({
	description:
		"A test conversion: it obeys every rule, its events carry `test: true`, and no total counts it.",
	examples: [false],
});

export const REASON = z.string().meta({
	enum: REASONS,
	description: "Why. The shop's records and the service's show the same word.",
	examples: ["RETURN"],
});
