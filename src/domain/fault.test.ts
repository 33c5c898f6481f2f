import assert from "node:assert/strict";
import { test } from "node:test";
import { type FaultCode, fault, plainWords, refuse, succeed } from "./fault.ts";

// Written out a second time on purpose: codes and statuses are part of the API, so that a renamed code or
// another status must fail here. The type makes a new code fail until it is written down.
const HTTP_STATUSES: Readonly<Record<FaultCode, number>> = {
	missing_api_key: 401,
	unknown_api_key: 401,
	revoked_api_key: 401,
	missing_signature_header: 401,
	malformed_timestamp: 401,
	stale_timestamp: 401,
	malformed_nonce: 401,
	replayed_nonce: 401,
	bad_signature: 401,
	no_signing_secret: 401,
	body_too_large: 413,
	unsupported_media_type: 415,
	malformed_json: 400,
	invalid_field: 422,
	unknown_field: 422,
	amount_not_a_string: 422,
	malformed_amount: 422,
	negative_amount: 422,
	amount_too_precise: 422,
	amount_too_large: 422,
	unknown_currency: 422,
	wrong_currency: 422,
	unknown_event_type: 422,
	unknown_reason: 422,
	missing_reason: 422,
	malformed_cursor: 422,
	unknown_order: 404,
	unknown_conversion: 404,
	unknown_programme: 404,
	unknown_delivery: 404,
	not_found: 404,
	method_not_allowed: 405,
	move_not_allowed: 409,
	too_many_streams: 429,
	pixel_limited: 429,
	malformed_file: 422,
	too_many_rows: 422,
	nothing_selected: 422,
	unknown_job: 404,
	job_not_ready: 409,
	too_many_exports: 429,
	too_many_uploads: 429,
	postback_url_malformed: 422,
	postback_url_too_long: 422,
	postback_url_not_https: 422,
	postback_url_has_credentials: 422,
	postback_url_has_fragment: 422,
	postback_url_not_wire_form: 422,
	postback_url_host_invalid: 422,
	postback_url_unresolvable: 422,
	postback_url_forbidden_address: 422,
	invalid_email: 422,
	email_taken: 409,
	unknown_role: 422,
	unknown_kind: 422,
	invalid_name: 422,
	invalid_rate: 422,
	invalid_days: 422,
	changed_meanwhile: 409,
	unknown_person: 404,
	unknown_key: 404,
	too_many_keys: 409,
	secret_already_prepared: 409,
	secret_not_prepared: 409,
	delivery_not_finished: 409,
	delivery_cancelled: 409,
	no_postback_url: 409,
	invalid_brand: 422,
	brand_is_fixed: 409,
	invalid_colour: 422,
	invalid_image: 422,
	mail_off: 409,
	mail_refused: 409,
	wrong_credentials: 401,
	wrong_code: 401,
	code_already_used: 401,
	code_step_over: 401,
	too_many_attempts: 429,
	wrong_password: 422,
	password_too_short: 422,
	password_too_long: 422,
	link_not_valid: 410,
	authenticator_already_on: 409,
	authenticator_not_on: 409,
	unknown_session: 404,
	form_not_valid: 403,
	not_allowed: 403,
	unavailable: 503,
	internal: 500,
};

const isCode = (text: string): text is FaultCode => text in HTTP_STATUSES;
const CODES = Object.keys(HTTP_STATUSES).filter(isCode);

test("a fault has the HTTP status its code always had", () => {
	for (const code of CODES) assert.equal(fault(code, "Do this.").httpStatus, HTTP_STATUSES[code], code);
});

test("every code is an error for HTTP, and words in lower case for programs", () => {
	for (const code of CODES) {
		const { httpStatus } = fault(code, "Do this.");
		assert.ok(Number.isInteger(httpStatus) && httpStatus >= 400 && httpStatus <= 599, code);
		assert.match(code, /^[a-z]+(_[a-z]+)*$/);
	}
});

test("contract 4.3: a stale or unsigned request is a 401, and only our own trouble is a 5xx", () => {
	const codesOf = (from: number, to: number) =>
		CODES.filter((code) => HTTP_STATUSES[code] >= from && HTTP_STATUSES[code] <= to);
	assert.deepEqual(codesOf(500, 599), ["unavailable", "internal"]);
	for (const code of ["stale_timestamp", "malformed_timestamp", "bad_signature", "replayed_nonce"] as const) {
		assert.ok(codesOf(401, 401).includes(code), code);
	}
});

test("a fault names its field where there is one, and has no such key where there is none", () => {
	const plain = { code: "wrong_currency", httpStatus: 422, detail: "Send EUR." };
	assert.deepEqual(fault("wrong_currency", "Send EUR."), plain);
	assert.equal("field" in fault("wrong_currency", "Send EUR."), false);
	assert.deepEqual(fault("wrong_currency", "Send EUR.", "currency"), { ...plain, field: "currency" });
});

test("a page says a fault's plain words where it has any, and its detail where not; the API's stay as they are", () => {
	const found = fault("missing_reason", "One of RETURN.", "reason", "Choose a reason.");
	assert.deepEqual([found.detail, plainWords(found)], ["One of RETURN.", "Choose a reason."]);
	assert.equal(plainWords(fault("internal", "Try again.")), "Try again.");
	assert.equal("plain" in fault("internal", "Try again."), false);
});

test("a refusal is the fault and no value; a success is the value and no fault", () => {
	assert.deepEqual(refuse("unknown_order", "Check the order id.", "orderId"), {
		ok: false,
		fault: { code: "unknown_order", httpStatus: 404, detail: "Check the order id.", field: "orderId" },
	});
	assert.deepEqual(refuse("internal", "Try again."), {
		ok: false,
		fault: { code: "internal", httpStatus: 500, detail: "Try again." },
	});
	assert.deepEqual(succeed("12.50"), { ok: true, value: "12.50" });
	assert.deepEqual(succeed(undefined), { ok: true, value: undefined });
});
