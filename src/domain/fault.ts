// A fault is a refusal somebody can act on: a stable code, an HTTP status and a sentence that says
// what to do next. Codes are part of the API: they are added, never renamed.

/** What a caller of the API can meet: the reference lists each with a remedy, and a test meets it. */
const API_STATUS_BY_CODE = {
	// Who is calling, and is it really them.
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
	// What is being said.
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
	not_found: 404,
	method_not_allowed: 405,
	move_not_allowed: 409,
	too_many_streams: 429,
	// Ours.
	unavailable: 503,
	internal: 500,
} as const;

/** Met on the pages, by the command, or in the pixel's log alone. */
const OTHER_STATUS_BY_CODE = {
	pixel_limited: 429,
	// Many decisions at once.
	malformed_file: 422,
	too_many_rows: 422,
	nothing_selected: 422,
	unknown_job: 404,
	job_not_ready: 409,
	too_many_exports: 429,
	too_many_uploads: 429,
	// The Postback URL, at save and at delivery.
	postback_url_malformed: 422,
	postback_url_too_long: 422,
	postback_url_not_https: 422,
	postback_url_has_credentials: 422,
	postback_url_has_fragment: 422,
	postback_url_not_wire_form: 422,
	postback_url_host_invalid: 422,
	postback_url_unresolvable: 422,
	postback_url_forbidden_address: 422,
	// People, programmes, keys and deliveries.
	unknown_programme: 404,
	unknown_delivery: 404,
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
	// The network's own face.
	invalid_brand: 422,
	brand_is_fixed: 409,
	invalid_colour: 422,
	invalid_image: 422,
	mail_off: 409,
	mail_refused: 409,
	// Signing in, and who may do what.
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
} as const;

const HTTP_STATUS_BY_CODE = { ...API_STATUS_BY_CODE, ...OTHER_STATUS_BY_CODE };

export type ApiFaultCode = keyof typeof API_STATUS_BY_CODE;

export type FaultCode = keyof typeof HTTP_STATUS_BY_CODE;

/** Undefined for what is no code of ours. */
export function httpStatusOf(code: string): number | undefined {
	return Object.hasOwn(HTTP_STATUS_BY_CODE, code) ? HTTP_STATUS_BY_CODE[code as FaultCode] : undefined;
}

const SPELLINGS: ReadonlyMap<string, string> = new Map([
	["api", "API"],
	["json", "JSON"],
	["url", "URL"],
	["https", "HTTPS"],
]);

/** The same for every fault of a code: `bad_signature` is "Bad signature". */
export function titleOfFault(code: FaultCode): string {
	const title = code
		.split("_")
		.map((word) => SPELLINGS.get(word) ?? word)
		.join(" ");
	return title.charAt(0).toUpperCase() + title.slice(1);
}

export interface Fault {
	code: FaultCode;
	httpStatus: number;
	/** One or two sentences for the person: what is wrong, and what to do next. */
	detail: string;
	/** The field of the input it is about, where there is one. */
	field?: string;
	/** The same for somebody at a page, where the API's own words would say nothing. */
	plain?: string;
}

export type Result<Value> = { ok: true; value: Value } | { ok: false; fault: Fault };

export function fault(code: FaultCode, detail: string, field?: string, plain?: string): Fault {
	return {
		code,
		httpStatus: HTTP_STATUS_BY_CODE[code],
		detail,
		...(field === undefined ? {} : { field }),
		...(plain === undefined ? {} : { plain }),
	};
}

/** What a page says of it. */
export function plainWords({ plain, detail }: Fault): string {
	return plain ?? detail;
}

export function succeed<Value>(value: Value): { ok: true; value: Value } {
	return { ok: true, value };
}

export function refuse(
	code: FaultCode,
	detail: string,
	field?: string,
	plain?: string,
): { ok: false; fault: Fault } {
	return { ok: false, fault: fault(code, detail, field, plain) };
}
