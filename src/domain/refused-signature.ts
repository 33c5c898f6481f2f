// A request to us whose signature did not match: what the caller is told, and what of it "Check a signature" reads back
// from the inbound log.

export interface ReceivedRequest {
	method: string;
	target: string;
	/** The SHA-256 of its body. */
	digest: string;
	atMs: number;
}

export function describeMismatch(
	header: string,
	{ method, target, digest }: Omit<ReceivedRequest, "atMs">,
): string {
	return `${header} does not match. Sign method, path with query, timestamp, nonce and the SHA-256 of the body bytes exactly as sent; here they were ${method} ${target} with a body digest of ${digest}.`;
}

/** Null for every other sentence. */
export function digestIn(detail: string | null): string | null {
	return / with a body digest of ([0-9a-f]{64})\.$/.exec(detail ?? "")?.[1] ?? null;
}
