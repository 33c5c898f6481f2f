// The ways in which a call can fail. All of them are return values. A client never throws because of the
// network, the service or the shop's data.

import type { RefusalCode } from "../words.ts";

/**
 * The service refused the request because of its data, or the client refused to send it. Repeating the request
 * would not help.
 */
export type Refused = {
	readonly ok: false;
	readonly kind: "refused";
	/**
	 * True if the same call can succeed later without a change of its data. It is true for a refusal only if
	 * something between client and service sent the request twice (`replayed_nonce`).
	 */
	readonly retryable: boolean;
	readonly code: RefusalCode;
	/** HTTP status, or null if the client did not send the request. */
	readonly status: number | null;
	/** A sentence that says what to do next. */
	readonly detail: string;
	/** Name of the field that is wrong, if there is one. */
	readonly field?: string;
	readonly attempts: number;
};

/**
 * The service refused the request because of a setting: the API key, the secret, the clock, the brand or the
 * address. The data may be right. Keep the call and repeat it after a person has corrected the setting.
 */
export type Misconfigured = {
	readonly ok: false;
	readonly kind: "misconfigured";
	readonly retryable: true;
	readonly code: RefusalCode;
	/** HTTP status, or null if the client did not send the request. */
	readonly status: number | null;
	/** A sentence that says which setting to check. */
	readonly detail: string;
	readonly field?: string;
	readonly attempts: number;
};

/**
 * No answer arrived, because there was no connection or the time limit passed. The service may still have
 * processed the request.
 */
export type Unreachable = {
	readonly ok: false;
	readonly kind: "unreachable";
	readonly retryable: true;
	readonly code?: undefined;
	readonly detail: string;
	readonly attempts: number;
};

/** Every try was answered with 408, 429 or 5xx. */
export type Unavailable = {
	readonly ok: false;
	readonly kind: "unavailable";
	readonly retryable: true;
	readonly code?: undefined;
	readonly status: number;
	readonly detail: string;
	/** Time that the service asked the client to wait, if it named one. */
	readonly retryAfterMs?: number;
	readonly attempts: number;
};

/** The answer does not conform to the API. Most likely another program answered at this address. */
export type Unexpected = {
	readonly ok: false;
	readonly kind: "unexpected";
	readonly retryable: true;
	readonly code?: undefined;
	readonly status: number;
	readonly detail: string;
	readonly attempts: number;
};

/**
 * The caller's own abort signal ended the call. If `attempts` is above zero, the service may have processed
 * the request.
 */
export type Aborted = {
	readonly ok: false;
	readonly kind: "aborted";
	readonly retryable: true;
	readonly code?: undefined;
	readonly detail: string;
	readonly attempts: number;
};

/**
 * A failed call. If `retryable` is true, the same call can succeed later, so a queue keeps the call and
 * repeats it. `retryable` is false only if the data of the call was refused.
 */
export type CallFailure = Refused | Misconfigured | Unreachable | Unavailable | Unexpected | Aborted;

/** Codes that say that a setting of the shop is wrong, and nothing about the data. */
const settingCodes: ReadonlySet<string> = new Set([
	"missing_api_key",
	"unknown_api_key",
	"revoked_api_key",
	"key_may_not_decide",
	"missing_signature_header",
	"malformed_timestamp",
	"stale_timestamp",
	"malformed_nonce",
	"no_signing_secret",
	"bad_signature",
	"redirected",
]);

type RefusedAnswer = Pick<Refused, "code" | "detail" | "field"> & { readonly status: number };

/** Returns the failure for an answer that refuses a request or an item of a batch. */
export function classifyRefusal(
	answer: RefusedAnswer,
): Omit<Refused, "attempts"> | Omit<Misconfigured, "attempts"> {
	if (settingCodes.has(answer.code)) return { ok: false, kind: "misconfigured", retryable: true, ...answer };
	return { ok: false, kind: "refused", retryable: answer.code === "replayed_nonce", ...answer };
}

/** Returns the failure of a call whose secret cannot be found. The error is not quoted, as it may hold a secret. */
export function failWithoutSecret(attempts: number): Misconfigured {
	const detail = "The function for secret failed or found no usable secret. Nothing was sent.";
	return {
		ok: false,
		kind: "misconfigured",
		retryable: true,
		code: "no_usable_secret",
		status: null,
		detail,
		attempts,
	};
}

export function refuseUnsent(code: RefusalCode, field: string, sentence: string): Refused {
	const detail = `${field} ${sentence} Nothing was sent.`;
	return { ok: false, kind: "refused", retryable: false, code, status: null, detail, field, attempts: 0 };
}
