// SHA-256 and HMAC-SHA256 by web crypto, the one implementation that Node, Deno, Bun and edge runtimes share.

type Bytes = Uint8Array<ArrayBuffer>;

const hmacSha256 = { name: "HMAC", hash: "SHA-256" };
const signatureForm = /^[0-9a-f]{64}$/i;

/** Lower-case hex SHA-256, as part five of the canonical string wants it. */
export async function digestSha256(bytes: Bytes): Promise<string> {
	const subtle = await loadSubtle();
	const digest = new Uint8Array(await subtle.digest("SHA-256", bytes));
	return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Whether `signature` (hex in either case) is the HMAC of `message` under `secret`. The comparison is left
 * to `subtle.verify`, which takes the same time wherever the two differ.
 */
export async function isSignedWith(secret: string, message: string, signature: string): Promise<boolean> {
	// An empty secret is one everybody knows: most likely a setting that was never filled in.
	if (secret === "" || !signatureForm.test(signature)) return false;
	const subtle = await loadSubtle();
	const encoder = new TextEncoder();
	const key = await subtle.importKey("raw", encoder.encode(secret), hmacSha256, false, ["verify"]);
	return subtle.verify("HMAC", key, decodeHex(signature), encoder.encode(message));
}

function decodeHex(hex: string): Bytes {
	return Uint8Array.from({ length: hex.length / 2 }, (_, i) =>
		Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
	);
}

// Node 18 has web crypto but no global for it. The specifier is a variable so that bundlers for the edge,
// where the global exists, do not try to resolve a Node module.
async function loadSubtle(): Promise<SubtleCrypto> {
	if (globalThis.crypto?.subtle !== undefined) return globalThis.crypto.subtle;
	const specifier: string = "node:crypto";
	const nodeCrypto: typeof import("node:crypto") = await import(specifier);
	return nodeCrypto.webcrypto.subtle;
}
