// Secrets at rest: AES-256-GCM under the service's own key, bound to what they belong to, so that a sealed secret
// copied onto another programme's row does not open.

import { createCipheriv, createDecipheriv } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
/** NIST SP 800-38D: 96 bits, the length GCM is made for. */
export const SEALING_IV_BYTES = 12;
export const SEALING_KEY_BYTES = 32;
const TAG_BYTES = 16;

/** `iv` must be fresh random bytes every time: GCM breaks when one is used twice. */
export function sealSecret(key: Uint8Array, programmeId: number, secret: string, iv: Uint8Array): string {
	return sealText(key, `programme:${programmeId}`, secret, iv);
}

/** Null when the key is not the one it was sealed with, or somebody changed it. */
export function openSecret(key: Uint8Array, programmeId: number, sealed: string): string | null {
	return openText(key, `programme:${programmeId}`, sealed);
}

/** A mail on its way may hold a link that lets somebody in. Bound to its reader: no row opens for another address. */
export function sealMail(key: Uint8Array, to: string, text: string, iv: Uint8Array): string {
	return sealText(key, `mail:${to}`, text, iv);
}

export function openMail(key: Uint8Array, to: string, sealed: string): string | null {
	return openText(key, `mail:${to}`, sealed);
}

/** `boundTo` says what the text belongs to: it opens with the same words only. */
export function sealText(key: Uint8Array, boundTo: string, text: string, iv: Uint8Array): string {
	const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(boundTo));
	return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString(
		"base64",
	);
}

export function openText(key: Uint8Array, boundTo: string, sealed: string): string | null {
	const bytes = Buffer.from(sealed, "base64");
	if (bytes.length < SEALING_IV_BYTES + TAG_BYTES) return null;
	const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, SEALING_IV_BYTES), {
		authTagLength: TAG_BYTES,
	})
		.setAAD(Buffer.from(boundTo))
		.setAuthTag(bytes.subarray(-TAG_BYTES));
	try {
		const text = decipher.update(bytes.subarray(SEALING_IV_BYTES, -TAG_BYTES));
		return Buffer.concat([text, decipher.final()]).toString("utf8");
	} catch {
		// The only thing `final` throws for is a tag that does not match.
		return null;
	}
}
