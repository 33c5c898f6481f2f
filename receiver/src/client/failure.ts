// The ways in which a call can fail. All of them are return values. A client never throws because of the
// network, the service or the shop's data.

import type { RefusalCode } from "../words.ts";

/**
 * The service refused the request, or the client refused to send it. Repeating the request would not help.
 */
export type Refused = {
	readonly ok: false;
	readonly kind: "refused";
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
 * No answer arrived, because there was no connection or the time limit passed. The service may still have
 * processed the request.
 */
export type Unreachable = {
	readonly ok: false;
	readonly kind: "unreachable";
	readonly code?: undefined;
	readonly detail: string;
	readonly attempts: number;
};

/** Every try was answered with 408, 429 or 5xx. */
export type Unavailable = {
	readonly ok: false;
	readonly kind: "unavailable";
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
	readonly code?: undefined;
	readonly detail: string;
	readonly attempts: number;
};

export type CallFailure = Refused | Unreachable | Unavailable | Unexpected | Aborted;

export function refuseUnsent(code: RefusalCode, field: string, sentence: string): Refused {
	const detail = `${field} ${sentence} Nothing was sent.`;
	return { ok: false, kind: "refused", code, status: null, detail, field, attempts: 0 };
}
