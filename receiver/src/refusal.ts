// Reasons why a shop must not act on a request.

export type RefusalReason =
	| "missing_header"
	| "malformed_timestamp"
	| "stale_timestamp"
	| "bad_signature"
	| "replayed_nonce"
	| "malformed_body";

export type Refusal = {
	readonly ok: false;
	readonly reason: RefusalReason;
	/** Message for the shop's log. It contains no part of the secret and no text of the sender. */
	readonly detail: string;
};

export function refuse(reason: RefusalReason, detail: string): Refusal {
	return { ok: false, reason, detail };
}
