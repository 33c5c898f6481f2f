// SHA-256 and HMAC-SHA256 by web crypto, the one implementation that Node, Deno, Bun and edge runtimes share.

import { loadWebCrypto } from "./web-crypto.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const hmacSha256 = { name: "HMAC", hash: "SHA-256" };
const signatureForm = /^[0-9a-f]{64}$/i;

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

export function encodeHex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function decodeHex(hex: string): Bytes {
	return Uint8Array.from({ length: hex.length / 2 }, (_, i) =>
		Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
	);
}
