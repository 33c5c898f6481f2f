// Why a request is not a delivery the shop should act on.

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
	/** For the shop's log. Holds nothing of the secret, and nothing the sender wrote. */
	readonly detail: string;
};

export function refuse(reason: RefusalReason, detail: string): Refusal {
	return { ok: false, reason, detail };
}
