// Reasons why a request is not a delivery that the shop should act on.

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
	/** Message for the shop's log. It contains nothing of the secret and nothing that the sender wrote. */
	readonly detail: string;
};

export function refuse(reason: RefusalReason, detail: string): Refusal {
	return { ok: false, reason, detail };
}
