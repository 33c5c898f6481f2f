// The canonical string of section 5: what is signed, byte for byte.

export type SignedParts = {
	readonly method: string;
	/** Path plus query string, exactly as on the request line. */
	readonly target: string;
	readonly timestamp: string;
	readonly nonce: string;
	/** Lower-case hex SHA-256 of the raw body. */
	readonly bodySha256: string;
};

export function formCanonical(parts: SignedParts): string {
	return [parts.method, parts.target, parts.timestamp, parts.nonce, parts.bodySha256].join("\n");
}
