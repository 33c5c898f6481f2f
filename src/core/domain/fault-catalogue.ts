// Every fault that the API can answer with: its HTTP status, sentence and meaning. Causes and cures are in
// docs/problems.md. The API's answers, the OpenAPI document, the pages below /problems and the table in
// docs/api.md are generated from this catalogue. Fault codes are part of the API, so they may be added but
// never renamed.

import type { ExplainedFault } from "./explained-fault.ts";
import { TOKEN_FAULTS } from "./token-faults.ts";

/**
 * All faults, grouped by the kind of call that can answer with them. The OpenAPI document lists the kinds of
 * each operation.
 */
export const FAULTS_BY_KIND = {
	/** Faults of signed calls that fail authentication, in the order of the checks. */
	caller: {
		missing_api_key: {
			status: 401,
			meaning: "There is no API key.",
			detail: "Send the programme's API key in the header Authorization: Bearer <API key>.",
		},
		unknown_api_key: {
			status: 401,
			meaning: "No programme has this API key.",
			detail: "This API key is not known here. Check that it was copied whole, or issue a new one.",
		},
		revoked_api_key: {
			status: 401,
			meaning: "This API key was revoked.",
			detail: "This API key has been revoked. Issue a new one.",
		},
		missing_signature_header: {
			status: 401,
			meaning: "One of the three signature headers is missing.",
			detail: "The header {header:X-Service-Nonce} is missing. A signed request has all three.",
		},
		malformed_timestamp: {
			status: 401,
			meaning: "The timestamp is not all digits.",
			detail: "{header:X-Service-Timestamp} must be Unix time in seconds: digits only.",
		},
		stale_timestamp: {
			status: 401,
			meaning: "The timestamp is more than 300 seconds away from our clock.",
			detail:
				"{header:X-Service-Timestamp} is more than {tolerance:300} seconds away from our clock ({now:1772366400}). Set the sender's clock, and sign at the moment of sending.",
		},
		malformed_nonce: {
			status: 401,
			meaning: "The nonce is too short, too long, or has other characters than letters, digits, `-` and `_`.",
			detail:
				'{header:X-Service-Nonce} must be 8 to 128 letters, digits, "-" or "_": best 32 random hex digits.',
		},
		no_signing_secret: {
			status: 401,
			meaning: "The programme has no signing secret.",
			detail: "This programme has no signing secret. It comes with the first API key: issue one.",
		},
		bad_signature: {
			status: 401,
			meaning: "The signature does not match.",
			detail:
				"{header:X-Service-Signature} does not match. Sign method, path with query, timestamp, nonce and the SHA-256 of the body bytes exactly as sent; here they were {method:POST} {target:/v1/conversions} with a body digest of {digest:f01a5df356f9d8ffde1dc37b2ac55f09d7d11dea57d79b5ec50dbeb6e90d7e32}.",
		},
		replayed_nonce: {
			status: 401,
			meaning: "This nonce was used before.",
			detail: "This nonce was used before. Sign every request, also a repeated one, with a new nonce.",
		},
	},
	body: {
		body_too_large: {
			status: 413,
			meaning: "The body has more than 64 KiB (a batch: 256 KiB).",
			detail:
				"The body may have at most {bytes:65536} bytes. {advice:Send one report per request, with its fields alone.}",
		},
		unsupported_media_type: {
			status: 415,
			meaning: "The body is not sent as plain JSON.",
			detail: "Send the body as JSON in UTF-8, uncompressed, with Content-Type: application/json.",
		},
		malformed_json: {
			status: 400,
			meaning: "The body is not a JSON object, or was cut off.",
			detail: "The body is not valid JSON in UTF-8. {advice:Sign and send the same valid bytes.}",
		},
	},
	fields: {
		invalid_field: {
			status: 422,
			meaning: "A field is missing, or is not what it must be.",
			detail: "{field:orderId} is missing. Send it as {kind:a string}.",
		},
		unknown_field: {
			status: 422,
			meaning: "There is no such field here.",
			detail: "{field:amount} is not a field {where:here. Known are orderId, eventType}.",
		},
	},
	sale: {
		amount_not_a_string: {
			status: 422,
			meaning: "The amount is a JSON number.",
			detail:
				'{field:basketValue} must be a string such as "129.90". A JSON number can lose cents on its way.',
		},
		malformed_amount: {
			status: 422,
			meaning: "The amount is not a decimal number.",
			detail:
				'{field:basketValue} must be digits with a point before the decimals and without grouping, such as {example:"129.90"}.',
		},
		negative_amount: {
			status: 422,
			meaning: "The amount is below zero.",
			detail: "{field:basketValue} must not be negative. Report a return as a reversal.",
		},
		amount_too_precise: {
			status: 422,
			meaning: "The amount has more decimals than its currency.",
			detail:
				"{field:basketValue} has {decimals:3} decimals, but {currency:EUR} has {digits:2}. Round it and send it again.",
		},
		amount_too_large: {
			status: 422,
			meaning: "The amount has more than 12 digits before the point.",
			detail: "{field:basketValue} may have at most {digits:12} digits before the point.",
		},
		unknown_currency: {
			status: 422,
			meaning: "The currency is not in ISO 4217.",
			detail: '"{currency:eur}" is not an ISO 4217 currency code. Use three capital letters such as EUR.',
			field: "currency",
		},
		wrong_currency: {
			status: 422,
			meaning: "The programme has another currency.",
			detail: "This programme is in {currency:EUR}. Convert the amount, or leave currency out.",
			field: "currency",
		},
	},
	"coupon codes": {
		too_many_coupon_codes: {
			status: 422,
			meaning: "The sale has more coupon codes than are read.",
			detail:
				"couponCodes may have at most {most:10} codes, and there are {count:11}. Nothing was recorded. Send the codes that partners may own, and leave out the others.",
			field: "couponCodes",
		},
	},
	/** Fault of sale reports and of streams, for a programme that has ended. */
	archived: {
		programme_archived: {
			status: 403,
			meaning: "The network has archived the programme. It takes no new sales, and nobody can listen to it.",
			detail:
				"This programme is archived. It takes no new sales, and nobody can listen to it. Ask the network's staff to resume it, or stop reporting.",
		},
	},
	"event type": {
		unknown_event_type: {
			status: 422,
			meaning: "There is no such event type.",
			detail: "eventType must be one of {known:SALE, LEAD, SIGNUP, SUBSCRIPTION, RENEWAL, INSTALL, OTHER}.",
			field: "eventType",
		},
	},
	reason: {
		missing_reason: {
			status: 422,
			meaning: "A rejection, reversal or refund needs a reason.",
			detail:
				"A reason is needed here: one of {known:RETURN, CANCELLED, PAYMENT_FAILED, CHARGEBACK, OUT_OF_STOCK, DUPLICATE, FRAUD, TERMS_VIOLATION, SELF_REFERRAL, OTHER_CHANNEL, INVALID_LEAD, TEST_ORDER, TRACKING_ERROR, OTHER}.",
			field: "reason",
		},
		unknown_reason: {
			status: 422,
			meaning: "There is no such reason.",
			detail:
				"reason must be one of {known:RETURN, CANCELLED, PAYMENT_FAILED, CHARGEBACK, OUT_OF_STOCK, DUPLICATE, FRAUD, TERMS_VIOLATION, SELF_REFERRAL, OTHER_CHANNEL, INVALID_LEAD, TEST_ORDER, TRACKING_ERROR, OTHER}.",
			field: "reason",
		},
	},
	cursor: {
		malformed_cursor: {
			status: 422,
			meaning: "The cursor is not one of ours.",
			detail:
				"This cursor is not one of ours. Take nextCursor from the page before, as it is, or leave it out to start again.",
			field: "cursor",
		},
	},
	/** Faults of calls that approve or reject, which need a key with the right to decide. */
	"key's right": {
		key_may_not_decide: {
			status: 403,
			meaning: "This API key reports sales, refunds and reversals. It does not approve or reject.",
			detail:
				"This API key may report sales, refunds and reversals, and decide about test conversions alone. To approve and reject over the API, ask an owner of the programme to issue a key that decides (Integration, Keys and snippets).",
		},
	},
	decision: {
		unknown_order: {
			status: 404,
			meaning: "The programme has no such order of that event type.",
			detail:
				"This programme has no {eventType:SALE} with order ID {orderId:ORDER-1001}. Check the spelling, and that its POST /v1/conversions was answered RECORDED or CONFIRMED.",
			field: "orderId",
		},
		move_not_allowed: {
			status: 409,
			meaning: "The conversion's present status does not allow it.",
			detail:
				"This conversion is {status:REVERSED} and cannot be {done:approved}. {advice:Only a conversion that is RECORDED can be approved.}",
		},
	},
	refund: {
		zero_refund: {
			status: 422,
			meaning: "The amount of the refund is zero.",
			detail: "amount must be more than zero. Send what was refunded, or no refund at all.",
			field: "amount",
		},
		refund_above_value: {
			status: 409,
			meaning: "The refund is larger than the value that is left.",
			detail:
				"Only {left:70.00} {currency:EUR} is left of this conversion, so {amount:70.01} cannot be refunded. Refund at most what is left.",
			field: "amount",
		},
		value_not_lower: {
			status: 409,
			meaning: "The new value of the conversion is not below its present one.",
			detail:
				"basketValue must be below {left:100.00} {currency:EUR}, which is the present value of this conversion. Send the value that is left after the refund.",
			field: "basketValue",
		},
		refund_id_used: {
			status: 409,
			meaning: "The conversion has a refund with this ID and another amount.",
			detail:
				"The refund {refundId:R-1} of this conversion was stored before, with {amount:30.00} {currency:EUR}. Nothing was changed. Send another refundId for another refund.",
			field: "refundId",
		},
		too_many_refunds: {
			status: 409,
			meaning: "The conversion has the maximum number of refunds.",
			detail:
				"This conversion has {count:200} refunds, which is the maximum. If nothing of the order is left, report a reversal with POST /v1/reversals. Otherwise ask the network's staff.",
		},
		nothing_to_refund: {
			status: 409,
			meaning: "The conversion has no value that could be refunded.",
			detail:
				"This conversion has a value of {value:0.00} {currency:EUR}, so nothing of it can be refunded. If it does not count any more, report a reversal with POST /v1/reversals.",
		},
		not_confirmed: {
			status: 409,
			meaning: "Only a pixel has reported the order.",
			detail:
				"Only a pixel has reported this order, so its value is not certain yet. Report the sale with POST /v1/conversions first, and then the refund.",
		},
	},
	"one conversion": {
		unknown_conversion: {
			status: 404,
			meaning: "The programme has no conversion with that ID.",
			detail:
				"This programme has no conversion with that ID. IDs start with cnv_; to look by order, use GET /v1/conversions?orderId=…",
		},
	},
	stream: {
		too_many_streams: {
			status: 429,
			meaning: "The maximum number of streams is open, for the programme or in all.",
			detail:
				"{limit:5 streams of yours are open, which is the maximum}. End a stream of yours, or try again in a minute.",
		},
	},
	/** Faults of unknown paths (404) and methods that a path does not have (405). */
	elsewhere: {
		not_found: {
			status: 404,
			meaning: "There is nothing at this address.",
			detail: "There is nothing at this address. Check the path: the API is below /v1/.",
		},
		method_not_allowed: {
			status: 405,
			meaning: "The address does not take this method.",
			detail: "{method:DELETE} is not possible here. Use {allow:GET, POST}.",
		},
	},
	...TOKEN_FAULTS,
	/** Failures on our side. Every call can answer with them. */
	own: {
		internal: {
			status: 500,
			meaning: "Something failed on our side.",
			detail:
				"Something failed on our side, and we have a record of it. Send the request again, signed anew: nothing is recorded twice.",
		},
		unavailable: {
			status: 503,
			meaning: "The service is not available at the moment.",
			detail:
				"The database cannot be used just now. Send the request again, signed anew: nothing is recorded twice.",
		},
	},
	/**
	 * Faults that no caller gets as an answer. A pixel call always gets its image, and the fault is shown in
	 * the inbound log.
	 */
	"inbound log": {
		pixel_limited: {
			status: 429,
			meaning: "More pixel calls came than the limits allow, and some were not taken.",
			detail:
				"{calls:12 pixel calls were} not taken in the minute before this entry, because more came than the limits allow.{from: They came from 1 address block.} Your server's signed requests are not affected. If these were your customers, report their orders with POST /v1/conversions and tell the network's staff.",
		},
	},
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExplainedFault>>>>;
