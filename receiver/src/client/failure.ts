// The ways in which a call can fail. They are all values: a client never throws because of the network, the
// service or the shop's data.

import type { RefusalCode } from "../words.ts";

/** The service refused the request, or the client did before sending it. Repeating it would not help. */
export type Refused = {
	readonly ok: false;
	readonly kind: "refused";
	readonly code: RefusalCode;
	/** HTTP status, or null if the client refused before sending anything. */
	readonly status: number | null;
	/** A sentence that says what to do next. */
	readonly detail: string;
	/** The field at fault, if there is one. */
	readonly field?: string;
	readonly attempts: number;
};

/**
 * No answer arrived: no connection, or a timeout. The service may have processed the request all the same.
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
	/** Time that the service asked to wait, if it did. */
	readonly retryAfterMs?: number;
	readonly attempts: number;
};

/** The answer does not conform to the API. Most likely another program answers at this address. */
export type Unexpected = {
	readonly ok: false;
	readonly kind: "unexpected";
	readonly code?: undefined;
	readonly status: number;
	readonly detail: string;
	readonly attempts: number;
};

/**
 * The caller's own signal ended the call. If `attempts` is above zero, the service may have processed the
 * request.
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
