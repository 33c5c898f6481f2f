// The signature of section 5: the canonical string, and SHA-256 and HMAC-SHA256 by web crypto, the one implementation
// that Node, Deno, Bun and edge runtimes share.

type Bytes = Uint8Array<ArrayBuffer>;

const hmacSha256 = { name: "HMAC", hash: "SHA-256" };
const nonceBytes = 16;
const signatureForm = /^[0-9a-f]{64}$/i;

export type SignedParts = {
	readonly method: string;
	/** Path plus query string, exactly as on the request line. */
	readonly target: string;
	readonly timestamp: string;
	readonly nonce: string;
	/** Lower-case hex SHA-256 of the raw body. */
	readonly bodySha256: string;
};

/** What is signed, byte for byte. */
export function formCanonical(parts: SignedParts): string {
	return [parts.method, parts.target, parts.timestamp, parts.nonce, parts.bodySha256].join("\n");
}

/** Lower-case hex SHA-256, as part five of the canonical string wants it. */
export async function digestSha256(bytes: Bytes): Promise<string> {
	const { subtle } = await loadWebCrypto();
	return encodeHex(new Uint8Array(await subtle.digest("SHA-256", bytes)));
}

/** The HMAC of `message` under `secret`, in lower-case hex. */
export async function signWith(secret: string, message: string): Promise<string> {
	const { subtle } = await loadWebCrypto();
	const encoder = new TextEncoder();
	const key = await subtle.importKey("raw", encoder.encode(secret), hmacSha256, false, ["sign"]);
	return encodeHex(new Uint8Array(await subtle.sign("HMAC", key, encoder.encode(message))));
}

/**
 * Whether `signature` (hex in either case) is the HMAC of `message` under `secret`. The comparison is left
 * to `subtle.verify`, which takes the same time wherever the two differ.
 */
export async function isSignedWith(secret: string, message: string, signature: string): Promise<boolean> {
	// An empty secret is one everybody knows: most likely a setting that was never filled in.
	if (secret === "" || !signatureForm.test(signature)) return false;
	const { subtle } = await loadWebCrypto();
	const encoder = new TextEncoder();
	const key = await subtle.importKey("raw", encoder.encode(secret), hmacSha256, false, ["verify"]);
	return subtle.verify("HMAC", key, decodeHex(signature), encoder.encode(message));
}

/** 32 random hex digits. */
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

// Node 18 has web crypto but no global for it. The specifier is a variable so that bundlers for the edge,
// where the global exists, do not try to resolve a Node module.
async function loadWebCrypto(): Promise<Pick<typeof globalThis.crypto, "subtle" | "getRandomValues">> {
	if (globalThis.crypto?.subtle !== undefined) return globalThis.crypto;
	const specifier: string = "node:crypto";
	const nodeCrypto: typeof import("node:crypto") = await import(specifier);
	return nodeCrypto.webcrypto;
}
