// How a call can end other than well. All of it is values: a client never throws for what the network, the
// service or the shop's own data do.

import type { RefusalCode } from "../words.ts";

/** The service heard the request and says no, or it was not worth sending. Repeating it changes nothing. */
export type Refused = {
	readonly ok: false;
	readonly kind: "refused";
	readonly code: RefusalCode;
	/** Null: refused here, before anything was sent. */
	readonly status: number | null;
	/** A sentence that says what to do next. */
	readonly detail: string;
	/** The field at fault, where one is. */
	readonly field?: string;
	readonly attempts: number;
};

/** No answer came: no connection, or none in time. The service may have acted on the request all the same. */
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
	/** How long the service asked to wait, where it did. */
	readonly retryAfterMs?: number;
	readonly attempts: number;
};

/** The answer is not what the API promises: most likely something else answers at this address. */
export type Unexpected = {
	readonly ok: false;
	readonly kind: "unexpected";
	readonly code?: undefined;
	readonly status: number;
	readonly detail: string;
	readonly attempts: number;
};

/** The caller's own signal ended it. With `attempts` above zero the service may have acted on the request. */
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
