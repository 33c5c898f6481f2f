// The codes of an authenticator: six digits that an app computes from a shared secret and the time (TOTP, RFC 6238), and
// backup codes for people who lost the app.

import { createHmac } from "node:crypto";
import { SECOND_MS } from "./time.ts";

/** Length of a TOTP secret: 160 bits, as RFC 4226 recommends. */
export const TOTP_SECRET_BYTES = 20;
/** Time after which the app shows a new code. */
const TOTP_STEP_MS = 30 * SECOND_MS;
/**
 * Offsets of the accepted time steps. The previous and the next code are accepted too, because the clocks of
 * phones differ.
 */
const ACCEPTED_STEPS = [-1, 0, 1];

export function acceptedTotpCodes(secret: Uint8Array, atMs: number): string[] {
	return ACCEPTED_STEPS.map((steps) => totpCodeAt(secret, atMs + steps * TOTP_STEP_MS));
}

export function totpCodeAt(secret: Uint8Array, atMs: number): string {
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(Math.floor(atMs / TOTP_STEP_MS)));
	const digest = createHmac("sha1", secret).update(counter).digest();
	// The last four bits of the digest say at which byte the 31 bits of the code begin (RFC 4226, section 5.3).
	const offset = (digest.at(-1) ?? 0) & 15;
	return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}

/** Returns the otpauth address that an authenticator app scans as a QR code. It contains the secret. */
export function totpUri(secret: Uint8Array, email: string, issuer: string): string {
	// URLSearchParams is not used, because it encodes a space as a plus, and authenticator apps show the plus.
	const [name, account] = [encodeURIComponent(issuer), encodeURIComponent(email)];
	return `otpauth://totp/${name}:${account}?secret=${base32(secret)}&digits=6&period=30&issuer=${name}`;
}

const BASE32_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function base32(bytes: Uint8Array): string {
	const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
	const groups = bits.match(/.{1,5}/g) ?? [];
	return groups.map((group) => BASE32_ALPHABET[Number.parseInt(group.padEnd(5, "0"), 2)]).join("");
}

/** The characters of backup codes. 0, O, 1, I and L are left out, because they look alike. */
const BACKUP_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
/**
 * Number of characters in a backup code. There are 31^10 (about 2^50) codes, too many to guess with ten tries
 * in 15 minutes.
 */
const BACKUP_LENGTH = 10;
/**
 * Random bytes from this value on are skipped, because they would make the first characters of the alphabet
 * more likely.
 */
const UNBIASED_BYTES = 256 - (256 % BACKUP_ALPHABET.length);

export function makeBackupCode(randomBytes: (count: number) => Uint8Array): string {
	let letters = "";
	while (letters.length < BACKUP_LENGTH) {
		for (const byte of randomBytes(BACKUP_LENGTH)) {
			if (byte < UNBIASED_BYTES) letters += BACKUP_ALPHABET[byte % BACKUP_ALPHABET.length];
		}
	}
	return hyphenate(letters.slice(0, BACKUP_LENGTH));
}

export interface TypedCode {
	isBackupCode: boolean;
	/** Code in its normal form for comparisons: six digits, or a backup code in capitals with its hyphen. */
	code: string;
}

/** Reads a code as people type it, for example with spaces, in lower case or without the hyphen. */
export function readTypedCode(text: string): TypedCode {
	const code = text.replace(/\s+/g, "");
	if (/^\d{6}$/.test(code)) return { isBackupCode: false, code };
	return { isBackupCode: true, code: hyphenate(code.replaceAll("-", "").toUpperCase()) };
}

function hyphenate(letters: string): string {
	return `${letters.slice(0, BACKUP_LENGTH / 2)}-${letters.slice(BACKUP_LENGTH / 2)}`;
}
