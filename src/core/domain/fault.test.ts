import assert from "node:assert/strict";
import { test } from "node:test";
import {
	API_FAULT_CODES,
	codesOf,
	EXPLAINED_CODES,
	exampleFault,
	explainFault,
	fault,
	faultOf,
	httpStatusOf,
	isExplained,
	plainWords,
	refusalOf,
	refuse,
} from "./fault.ts";

// The released codes are repeated here on purpose, because they must not change. New codes need no line here.
const RELEASED: Readonly<Record<number, string>> = {
	400: "malformed_json",
	401: "missing_api_key unknown_api_key revoked_api_key missing_signature_header malformed_timestamp stale_timestamp malformed_nonce replayed_nonce bad_signature no_signing_secret",
	404: "unknown_order unknown_conversion not_found",
	405: "method_not_allowed",
	409: "move_not_allowed",
	413: "body_too_large",
	415: "unsupported_media_type",
	422: "invalid_field unknown_field amount_not_a_string malformed_amount negative_amount amount_too_precise amount_too_large unknown_currency wrong_currency too_many_coupon_codes unknown_event_type unknown_reason missing_reason malformed_cursor",
	429: "too_many_streams",
	500: "internal",
	503: "unavailable",
};

test("every released fault code keeps its HTTP status", () => {
	for (const [status, codes] of Object.entries(RELEASED)) {
		for (const code of codes.split(" ")) assert.equal(httpStatusOf(code), Number(status), code);
	}
	for (const unknown of ["toString", "nonsense", ""]) assert.equal(httpStatusOf(unknown), undefined, unknown);
});

test("contract 4.3: an unknown caller gets a 401, and only failures on our side are a 5xx", () => {
	for (const code of codesOf("caller")) assert.equal(httpStatusOf(code), 401, code);
	const ours = API_FAULT_CODES.filter((code) => (httpStatusOf(code) ?? 0) >= 500);
	assert.deepEqual(ours, codesOf("own"));
});

test("every entry of the catalogue is complete: a code in words, an HTTP error, and whole sentences", () => {
	for (const code of EXPLAINED_CODES) {
		const { status, meaning } = explainFault(code);
		assert.match(code, /^[a-z]+(_[a-z]+)*$/);
		assert.ok(Number.isInteger(status) && status >= 400 && status <= 599, code);
		for (const text of [meaning, exampleFault(code, "Service").detail]) {
			assert.match(text, /^["`A-Za-z0-9](?:.*[.:…)]|.*\?orderId=…)$/, `${code}: ${text}`);
			assert.doesNotMatch(text, /[{}]/, `${code}: ${text}`);
		}
	}
	assert.ok(isExplained("pixel_limited") && !isExplained("mail_off") && !isExplained("toString"));
});

test("the code that refuses fills the placeholders, and an example fills them with its brand", () => {
	const places = { field: "commission", decimals: 3, currency: "EUR", digits: 2 };
	assert.deepEqual(faultOf("amount_too_precise", places), {
		code: "amount_too_precise",
		httpStatus: 422,
		detail: "commission has 3 decimals, but EUR has 2. Round it and send it again.",
		field: "commission",
	});
	// @ts-expect-error: a missing value for a placeholder does not compile.
	faultOf("amount_too_precise", { field: "commission", decimals: 3 });
	const hostile = "{orderId:x} $& {eventType:y}";
	assert.deepEqual(refusalOf("unknown_order", { eventType: "SALE", orderId: hostile }, "Plain.").fault, {
		code: "unknown_order",
		httpStatus: 404,
		detail: `This programme has no SALE with order ID ${hostile}. Check the spelling, and that its POST /v1/conversions was answered RECORDED or CONFIRMED.`,
		field: "orderId",
		plain: "Plain.",
	});
	assert.equal(
		exampleFault("missing_signature_header", "Acme").detail,
		"The header X-Acme-Nonce is missing. A signed request has all three.",
	);
});

test("a fault has the members `field` and `plain` only if they were given", () => {
	const bare = { code: "wrong_currency", httpStatus: 422, detail: "Send EUR." };
	assert.deepEqual(fault("wrong_currency", "Send EUR."), bare);
	const named = refuse("wrong_currency", "Send EUR.", "currency", "Choose EUR.");
	assert.deepEqual(named, { ok: false, fault: { ...bare, field: "currency", plain: "Choose EUR." } });
	assert.deepEqual([fault("internal", "Try again."), named.fault].map(plainWords), [
		"Try again.",
		"Choose EUR.",
	]);
});
