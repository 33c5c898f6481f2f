// Every problem that a caller of the API can meet, and what to do about it. What people meet on pages alone is
// not here.

import { type ApiFaultCode, fault } from "../../domain/fault.ts";
import { MAX_WHOLE_DIGITS } from "../../domain/money.ts";
import { TIMESTAMP_TOLERANCE_SECONDS } from "../../domain/signature.ts";
import type { ProblemEntry } from "../../openapi.ts";
import { MAX_BODY_BYTES } from "../read-request.ts";

type Words = readonly [meaning: string, remedy: string];

/** In the order in which a call is checked. */
const CALLER = {
	missing_api_key: ["There is no API key.", "Send `Authorization: Bearer <API key>`."],
	unknown_api_key: [
		"No programme has this API key.",
		"Check that it was copied completely, and that it was issued here.",
	],
	revoked_api_key: ["This API key was revoked.", "Issue another one on the Integration page."],
	missing_signature_header: [
		"One of the three signature headers is missing.",
		"Send all three. `detail` names the missing one.",
	],
	malformed_timestamp: ["The timestamp is not all digits.", "Send Unix time in seconds, not milliseconds."],
	stale_timestamp: [
		`The timestamp is more than ${TIMESTAMP_TOLERANCE_SECONDS} seconds away from our clock.`,
		"Set the sender's clock, and sign right before sending. `detail` has our time.",
	],
	malformed_nonce: [
		"The nonce is too short, too long, or has other characters than letters, digits, `-` and `_`.",
		"Send 32 random hex digits.",
	],
	no_signing_secret: [
		"The programme has no signing secret.",
		"Issue an API key: the first one comes with the secret.",
	],
	bad_signature: [
		"The signature does not match.",
		"Compare the method, path and body digest in `detail` with what was signed: most often the body was serialised twice.",
	],
	replayed_nonce: [
		"This nonce was used before.",
		"Sign every request anew, a repeated one too, with a new nonce.",
	],
} satisfies Partial<Record<ApiFaultCode, Words>>;

const BODY = {
	body_too_large: [
		`The body has more than ${MAX_BODY_BYTES / 1_024} KiB.`,
		"Send one report per request, with its fields alone.",
	],
	unsupported_media_type: [
		"The body is not sent as plain JSON.",
		"Send `Content-Type: application/json`, in UTF-8, not compressed.",
	],
	malformed_json: [
		"The body is not a JSON object, or was cut off.",
		"Send the bytes that were signed, as one JSON object.",
	],
} satisfies Partial<Record<ApiFaultCode, Words>>;

const OTHERS = {
	unknown_field: ["There is no such field here.", "Check its spelling: `field` names it."],
	invalid_field: [
		"A field is missing, or is not what it must be.",
		"`field` names it, `detail` says what to send.",
	],
	amount_not_a_string: ["The amount is a JSON number.", 'Send it as a string: `"129.90"`.'],
	malformed_amount: ["The amount is not a decimal number.", "Send digits, with a point before the decimals."],
	negative_amount: ["The amount is below zero.", "Report a return as a reversal."],
	amount_too_precise: ["The amount has more decimals than its currency.", "Round it."],
	amount_too_large: [
		`The amount has more than ${MAX_WHOLE_DIGITS} digits before the point.`,
		"Check the amount.",
	],
	unknown_currency: ["The currency is not in ISO 4217.", "Send three capital letters, such as `EUR`."],
	wrong_currency: ["The programme has another currency.", "Convert the amount, or leave `currency` out."],
	unknown_event_type: ["There is no such event type.", "Send one of those listed, in capitals."],
	missing_reason: ["A rejection or reversal needs a reason.", "Send one of those listed."],
	unknown_reason: ["There is no such reason.", "Send one of those listed, in capitals."],
	malformed_cursor: [
		"The cursor is not one of ours.",
		"Send the one from our last answer unchanged, or none.",
	],
	unknown_order: [
		"The programme has no such order of that event type.",
		"Check the spelling of the order id and the event type.",
	],
	unknown_conversion: [
		"The programme has no conversion with that id.",
		"Look by order: `GET /v1/conversions?orderId=…`.",
	],
	move_not_allowed: ["The conversion's present status does not allow it.", "`detail` names the status."],
	too_many_streams: [
		"The maximum number of streams is open, for the programme or in all.",
		"Close another one, or try again in a minute.",
	],
	not_found: ["There is nothing at this address.", "Check the path: it begins with `/v1/`."],
	method_not_allowed: ["The address does not take this method.", "The header `Allow` says which it takes."],
	unavailable: [
		"The service is not available at the moment.",
		"Send it again after `Retry-After`, signed anew: nothing is recorded twice.",
	],
	internal: ["Something failed on our side.", "Send it again, signed anew: nothing is recorded twice."],
} satisfies Partial<Record<ApiFaultCode, Words>>;

/** A code without words here does not compile. */
const LIST: Readonly<Record<ApiFaultCode, Words>> = { ...CALLER, ...BODY, ...OTHERS };

export const API_PROBLEM_CODES = codesOf(LIST);
export const CALLER_CODES = codesOf(CALLER);
export const BODY_CODES = codesOf(BODY);
export const OWN_CODES: readonly ApiFaultCode[] = ["internal", "unavailable"];

export function listProblems(): ProblemEntry[] {
	return API_PROBLEM_CODES.map(problemEntry);
}

export function problemEntry(code: ApiFaultCode): ProblemEntry {
	const [meaning, remedy] = LIST[code];
	return { code, status: statusOf(code), meaning, remedy };
}

export function statusOf(code: ApiFaultCode): number {
	return fault(code, "").httpStatus;
}

function codesOf<Code extends string>(words: Readonly<Record<Code, unknown>>): Code[] {
	return Object.keys(words) as Code[];
}
