// Encrypts ("seals") secrets before they are stored, with AES-256-GCM and the service's own key. Each secret
// is bound to its owner, so a sealed secret that is copied to another row cannot be opened there. A sealed text does
// not name its key: all keys of the ring are tried, and the authentication tag shows which one is right.

import { createCipheriv, createDecipheriv } from "node:crypto";
import type { KeyRing } from "./key-ring.ts";
import type { ReceiverId } from "./receiver.ts";

const ALGORITHM = "aes-256-gcm";
/** Length of the initialization vector: 96 bits, as GCM is designed for (NIST SP 800-38D). */
export const SEALING_IV_BYTES = 12;
export const SEALING_KEY_BYTES = 32;
const TAG_BYTES = 16;

/**
 * Names of the owners to which sealed texts are bound. They are part of the sealed texts, so they must never change.
 */
export const SEALED_FOR = {
	receiver: (id: ReceiverId | string) => `receiver:${id}`,
	person: (id: number | string) => `person:${id}`,
	mail: (to: string) => `mail:${to}`,
	paymentDetails: (partnerId: number | string) => `payment details:${partnerId}`,
	statement: (publicId: string) => `statement:${publicId}`,
	erasure: (publicId: string) => `erasure:${publicId}`,
	keptKeys: (name: string) => `kept keys:${name}`,
} as const;

/** The keys that are tried to open a sealed text. */
export type OpeningKeys = Pick<KeyRing, "keys">;

/**
 * Seals a signing secret. `iv` must be fresh random bytes every time, because AES-GCM is insecure if an `iv` is used
 * twice.
 */
export function sealSecret(key: Uint8Array, receiverId: ReceiverId, secret: string, iv: Uint8Array): string {
	return sealText(key, SEALED_FOR.receiver(receiverId), secret, iv);
}

/**
 * Opens a signing secret. Returns null if the secret was sealed with an unknown key or for another receiver, or if
 * the sealed text was changed.
 */
export function openSecret(ring: OpeningKeys, receiverId: ReceiverId, sealed: string): string | null {
	return openText(ring, SEALED_FOR.receiver(receiverId), sealed);
}

export function sealForPerson(key: Uint8Array, personId: number, text: string, iv: Uint8Array): string {
	return sealText(key, SEALED_FOR.person(personId), text, iv);
}

/**
 * Opens a text that was sealed for a person. Returns null if no key opens it, the person is another one,
 * or the text was changed.
 */
export function openForPerson(ring: OpeningKeys, personId: number, sealed: string): string | null {
	return openText(ring, SEALED_FOR.person(personId), sealed);
}

/**
 * Seals a queued mail, because the mail may contain a sign-in link. The sealed text is bound to the
 * recipient's address.
 */
export function sealMail(key: Uint8Array, to: string, text: string, iv: Uint8Array): string {
	return sealText(key, SEALED_FOR.mail(to), text, iv);
}

export function openMail(ring: OpeningKeys, to: string, sealed: string): string | null {
	return openText(ring, SEALED_FOR.mail(to), sealed);
}

/** Seals a text. `boundTo` names the owner of the text, and only a caller that gives the same name can open it. */
export function sealText(key: Uint8Array, boundTo: string, text: string, iv: Uint8Array): string {
	const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(boundTo));
	return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString(
		"base64",
	);
}

/** Opens a sealed text with one of the keys. Returns null if no key opens the text. */
export function openText({ keys }: OpeningKeys, boundTo: string, sealed: string): string | null {
	for (const key of keys) {
		const text = openWith(key, boundTo, sealed);
		if (text !== null) return text;
	}
	return null;
}

function openWith(key: Uint8Array, boundTo: string, sealed: string): string | null {
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
		// `final` throws only if the authentication tag does not match.
		return null;
	}
}
