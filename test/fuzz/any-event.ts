// Generators of unusual events and texts.

import fc from "fast-check";
import { EVENT_TYPES, REASONS, STATUSES } from "#core/domain/conversion.ts";
import type { EventSubject } from "#core/domain/event.ts";
import { EVENT_NAMES } from "#core/domain/event-name.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";

/** Characters that parsers, databases and JSON writers often handle wrongly. */
const STUMBLING_BLOCKS = [
	'"',
	"\\",
	"\\u0000",
	"{",
	"}",
	",",
	"\n",
	"\0",
	"\u007f",
	"\u2028",
	"\u2029",
	"\ufeff",
	"\ufffd",
	"\ud800",
	"\udfff",
	"\u202e",
	"é",
	"e\u0301",
	"😀",
	"'; drop table conversions; --",
	"__proto__",
	"%00",
	"<script>",
];

export const ANY_TEXT: fc.Arbitrary<string> = fc.oneof(
	fc.string(),
	fc.string({ unit: ANY_CHARACTER }),
	fc.string({ unit: fc.constantFrom(...STUMBLING_BLOCKS), maxLength: 6 }),
);

/** Times in years that toISOString writes with four digits. */
export const ANY_TIME_MS = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) });

const ANY_DECIMAL = fc
	.tuple(fc.bigInt({ min: 0n, max: 10n ** 12n - 1n }), fc.integer({ min: 0, max: 99 }))
	.map(([whole, cents]) => `${whole}.${String(cents).padStart(2, "0")}`);

export const ANY_EVENT_NAME = fc.constantFrom(...EVENT_NAMES);

/** An id of ours. */
const ANY_OWN_ID = fc.stringMatching(/^[a-z]{3}_[0-9A-Z]{26}$/);
/** No order id has a line break, because core/domain/order-id.ts refuses it. */
const ANY_ORDER_ID = ANY_TEXT.filter((text) => !text.includes("\n"));

export const ANY_SUBJECT: fc.Arbitrary<EventSubject> = fc.record({
	conversionId: ANY_OWN_ID,
	orderId: ANY_ORDER_ID,
	programId: ANY_OWN_ID,
	status: fc.constantFrom(...STATUSES),
	eventType: fc.constantFrom(...EVENT_TYPES),
	basketValue: ANY_DECIMAL,
	commission: ANY_DECIMAL,
	networkFee: ANY_DECIMAL,
	currency: fc.constantFrom("EUR", "JPY", "BHD"),
	reason: fc.option(fc.constantFrom(...REASONS)),
	test: fc.boolean(),
	occurredAtMs: ANY_TIME_MS,
});
