// What is being said: a body or a query that is not understood.

import { EVENT_TYPES, REASONS } from "../../domain/conversion.ts";
import { MAX_WHOLE_DIGITS } from "../../domain/money.ts";
import type { ExplainedCode, ProblemWords } from "./explained-code.ts";

const CORRECT_FIRST =
	"Do not repeat it unchanged: the answer stays the same. Correct it, then send it signed anew. Nothing of the refused request was stored.";

export const CONTENT_WORDS = {
	body_too_large: {
		example: {
			detail: "The body may have at most 65536 bytes. Send one report per request, with its fields alone.",
		},
		causes: [
			"The whole order is sent, with items, addresses and customer, instead of the fields in the API reference.",
			"Several sales are sent as a list to a call that takes one.",
			"A batch has more than 256 KiB.",
		],
		cure: [
			"Send only the fields of [the call](/docs/api#recordConversion).",
			"For many sales use `POST /v1/conversions/batch`, up to 500 in a call.",
		],
		retry: CORRECT_FIRST,
	},
	unsupported_media_type: {
		example: {
			detail: "Send the body as JSON in UTF-8, uncompressed, with Content-Type: application/json.",
		},
		causes: [
			"The HTTP library sends a form (`application/x-www-form-urlencoded`), its default.",
			"The header `Content-Type` is missing.",
			"The body is compressed, or its charset is another one than UTF-8.",
		],
		cure: ["Set `Content-Type: application/json`, and send the JSON text as it was signed, uncompressed."],
		retry: CORRECT_FIRST,
	},
	malformed_json: {
		example: { detail: "The body is not valid JSON in UTF-8. Sign and send the same valid bytes." },
		causes: [
			"The body was put together by hand: a quote or a comma is missing, or a name in the order has a quote in it.",
			"The body is empty, or a list where an object is expected.",
			"The text is in Latin-1, so that an umlaut is not valid UTF-8.",
			"The connection broke off before the end of the body.",
		],
		cure: ["Let your language's JSON library write the body, keep the text, and sign and send that text."],
		retry: CORRECT_FIRST,
	},
	invalid_field: {
		example: { detail: "orderId is missing. Send it as a string.", field: "orderId" },
		causes: [
			"A required field is missing or null: `field` names it.",
			"A value has the wrong type: an order id as a number, `test` as a word.",
			"An order id begins or ends with a space, or has an invisible character in it.",
			"`occurredAt` has no time zone, or is in the future.",
			"A field appears twice in the body or in the query.",
		],
		cure: [
			"`field` names the field and `detail` says what to send. The [API reference](/docs/api) has every field.",
		],
		retry: CORRECT_FIRST,
	},
	unknown_field: {
		example: {
			detail:
				"orderID is not a field here. Known are orderId, eventType, basketValue, currency, occurredAt, test.",
			field: "orderID",
		},
		causes: [
			"A name is spelt differently: `orderID`, `order_id`, `amount` for `basketValue`.",
			"An approval is sent with a `reason`; only rejections and reversals have one.",
			"The body has more than the call takes: fields that we do not know are refused rather than ignored.",
		],
		cure: ["Use the names that `detail` lists, and leave the others out."],
		retry: CORRECT_FIRST,
	},
	amount_not_a_string: {
		example: {
			detail: 'basketValue must be a string such as "129.90". A JSON number can lose cents on its way.',
			field: "basketValue",
		},
		causes: ["The amount is a number in your language, and its JSON library writes it without quotes."],
		cure: ['Format the amount as text before it goes into the body: `"basketValue": "129.90"`.'],
		retry: CORRECT_FIRST,
	},
	malformed_amount: {
		example: {
			detail: 'basketValue must be digits with a point before the decimals, such as "129.90".',
			field: "basketValue",
		},
		causes: [
			"The amount is formatted for people: `1.299,00`, `129,90`, `€129.90`.",
			"A placeholder was not replaced: the pixel still says `AMOUNT`, or your template did not run.",
			"The amount is empty.",
		],
		cure: [
			"Send digits and a point: `129.90`. No thousands separator, no comma, no currency sign.",
			"In a [pixel](/docs#the-pixel): let your shop's template write the amount of the order.",
		],
		retry: CORRECT_FIRST,
	},
	negative_amount: {
		example: {
			detail: "basketValue must not be negative. Report a return as a reversal.",
			field: "basketValue",
		},
		causes: ["A credit note or a return is reported as a sale with a negative amount."],
		cure: ["Report a return with `POST /v1/reversals` and the order's id."],
		retry: CORRECT_FIRST,
	},
	amount_too_precise: {
		example: {
			detail: "basketValue has 3 decimals, but EUR has 2. Round it and send it again.",
			field: "basketValue",
		},
		causes: [
			"The amount is the result of a calculation, such as a price without tax, and was not rounded.",
			"The currency has no decimals, as JPY, and the amount has.",
		],
		cure: ["Round to the decimals of the programme's currency before you send it."],
		retry: CORRECT_FIRST,
	},
	amount_too_large: {
		example: {
			detail: `basketValue may have at most ${MAX_WHOLE_DIGITS} digits before the point.`,
			field: "basketValue",
		},
		causes: ["The amount is in a smaller unit than it should be, or another number stands in its field."],
		cure: ["Check which value your code sends as `basketValue`."],
		retry: CORRECT_FIRST,
	},
	unknown_currency: {
		example: {
			detail: '"eur" is not an ISO 4217 currency code. Use three capital letters such as EUR.',
			field: "currency",
		},
		causes: ["The code is in lower case, or it is a sign such as `€`."],
		cure: ["Send three capital letters, or leave `currency` out: the programme's currency is then used."],
		retry: CORRECT_FIRST,
	},
	wrong_currency: {
		example: {
			detail: "This programme is in EUR. Convert the amount, or leave currency out.",
			field: "currency",
		},
		causes: ["A customer paid in another currency, and your shop reports that amount."],
		cure: [
			"Convert the amount to the programme's currency, at the exchange rate of your books.",
			"Leave `currency` out only if the amount is in the programme's currency already.",
		],
		retry: CORRECT_FIRST,
	},
	unknown_event_type: {
		example: { detail: `eventType must be one of ${EVENT_TYPES.join(", ")}.`, field: "eventType" },
		causes: ["The value is in lower case, or not one of those that we know."],
		cure: ["Send one of the values listed in `detail`, in capitals. Without `eventType` it is `SALE`."],
		retry: CORRECT_FIRST,
	},
	missing_reason: {
		example: { detail: `A reason is needed here: one of ${REASONS.join(", ")}.`, field: "reason" },
		causes: ["A rejection or a reversal was sent without `reason`."],
		cure: ["Send one of the reasons listed in `detail`. If none fits: `OTHER`."],
		retry: CORRECT_FIRST,
	},
	unknown_reason: {
		example: { detail: `reason must be one of ${REASONS.join(", ")}.`, field: "reason" },
		causes: ["The reason is in your own words, or in lower case."],
		cure: ["Translate your reasons into those listed in `detail`. If none fits: `OTHER`."],
		retry: CORRECT_FIRST,
	},
	malformed_cursor: {
		example: {
			detail:
				"This cursor is not one of ours. Take nextCursor from the page before, as it is, or leave it out to start again.",
			field: "cursor",
		},
		causes: [
			"The cursor was changed on its way: cut off, or not encoded in the query.",
			"It belongs to another programme, or to a list with other filters.",
			"The network has restored a backup, or archived what came after it.",
		],
		cure: [
			"Pass on `nextCursor` exactly as it was answered, with the same filters, URL-encoded.",
			"Otherwise leave it out and start at the beginning; you recognise what you have read before by its `id`.",
		],
		retry: CORRECT_FIRST,
	},
} as const satisfies Partial<Record<ExplainedCode, ProblemWords>>;
