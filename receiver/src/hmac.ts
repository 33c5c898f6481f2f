// The signature of contract section 5: the canonical text, SHA-256 and HMAC-SHA256. It uses web crypto, which
// Node, Deno, Bun and edge runtimes share.

type Bytes = Uint8Array<ArrayBuffer>;

const hmacSha256 = { name: "HMAC", hash: "SHA-256" };
const nonceBytes = 16;
const signatureForm = /^[0-9a-f]{64}$/i;

export type SignedParts = {
	readonly method: string;
	/** Path and query string, exactly as in the request line. */
	readonly target: string;
	readonly timestamp: string;
	readonly nonce: string;
	/** SHA-256 of the raw body in lower-case hex. */
	readonly bodySha256: string;
};

/** Returns the text that is signed, which must match byte for byte. */
export function formCanonical(parts: SignedParts): string {
	return [parts.method, parts.target, parts.timestamp, parts.nonce, parts.bodySha256].join("\n");
}

/** Returns the SHA-256 in lower-case hex, which is the fifth part of the canonical text. */
export async function digestSha256(bytes: Bytes): Promise<string> {
	const { subtle } = await loadWebCrypto();
	return encodeHex(new Uint8Array(await subtle.digest("SHA-256", bytes)));
}

/** Returns the HMAC of `message` under `secret` in lower-case hex. */
export async function signWith(secret: string, message: string): Promise<string> {
	const { subtle } = await loadWebCrypto();
	const encoder = new TextEncoder();
	const key = await subtle.importKey("raw", encoder.encode(secret), hmacSha256, false, ["sign"]);
	return encodeHex(new Uint8Array(await subtle.sign("HMAC", key, encoder.encode(message))));
}

/**
 * Returns true if `signature` (hex in either case) is the HMAC of `message` under `secret`. `subtle.verify`
 * compares in constant time.
 */
export async function isSignedWith(secret: string, message: string, signature: string): Promise<boolean> {
	// An empty secret is refused, because everybody could sign with it. It is most likely a setting that was
	// never filled in.
	if (secret === "" || !signatureForm.test(signature)) return false;
	const { subtle } = await loadWebCrypto();
	const encoder = new TextEncoder();
	const key = await subtle.importKey("raw", encoder.encode(secret), hmacSha256, false, ["verify"]);
	return subtle.verify("HMAC", key, decodeHex(signature), encoder.encode(message));
}

/** Returns 32 random hex digits. */
export async function makeNonce(): Promise<string> {
	const webCrypto = await loadWebCrypto();
	return encodeHex(webCrypto.getRandomValues(new Uint8Array(nonceBytes)));
}

function encodeHex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function decodeHex(hex: string): Bytes {
	return Uint8Array.from({ length: hex.length / 2 }, (_, i) =>
		Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
	);
}

// Node 18 has web crypto but no global for it. The module name is in a variable, so that bundlers for edge
// runtimes, where the global exists, do not try to resolve a Node module.
async function loadWebCrypto(): Promise<Pick<typeof globalThis.crypto, "subtle" | "getRandomValues">> {
	if (globalThis.crypto?.subtle !== undefined) return globalThis.crypto;
	const specifier: string = "node:crypto";
	const nodeCrypto: typeof import("node:crypto") = await import(specifier);
	return nodeCrypto.webcrypto;
}
