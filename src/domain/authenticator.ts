// The second step: who must have it, and its codes: six digits from the app, or a backup code, written so that nobody
// mistakes one letter for another.

import type { PersonKind } from "./roles.ts";

/** A setting of the network, for its own people. */
export type StaffAuthenticator = "optional" | "required";
export const STAFF_AUTHENTICATOR: readonly StaffAuthenticator[] = ["optional", "required"];

/** Shops decide for themselves about their people. */
export function isAuthenticatorRequired(setting: StaffAuthenticator, kind: PersonKind): boolean {
	return setting === "required" && kind === "staff";
}

/** Without 0 and O, 1, I and L. */
const LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
/** 31 to the power of ten is close to 2 to the power of 50; ten guesses in a quarter of an hour get nowhere. */
const LENGTH = 10;
export const BACKUP_CODES = 10;
/** Bytes from here on are thrown away, because they would make the first letters more likely than the last. */
const EVEN_BYTES = 256 - (256 % LETTERS.length);

export interface TypedCode {
	isBackupCode: boolean;
	/** As it is compared: without blanks, a backup code as it was shown. */
	code: string;
}

/** Such as 7KQ2M-XW4HT. */
export function makeBackupCode(randomBytes: (count: number) => Uint8Array): string {
	let letters = "";
	while (letters.length < LENGTH) {
		for (const byte of randomBytes(LENGTH)) {
			if (byte < EVEN_BYTES) letters += LETTERS[byte % LETTERS.length];
		}
	}
	return hyphenate(letters.slice(0, LENGTH));
}

/** People type blanks, small letters and no hyphen. */
export function readTypedCode(text: string): TypedCode {
	const code = text.replace(/\s+/g, "");
	if (/^\d{6}$/.test(code)) return { isBackupCode: false, code };
	return { isBackupCode: true, code: hyphenate(code.replaceAll("-", "").toUpperCase()) };
}

/** The key's address, under the name that the app is to list the account by. */
export function withIssuer(uri: string, issuer: string): string {
	const [label = "", query = ""] = uri.split("?");
	const account = label.slice(label.lastIndexOf(":") + 1);
	const name = encodeURIComponent(issuer);
	const others = query.split("&").filter((part) => !part.startsWith("issuer="));
	return `otpauth://totp/${name}:${account}?${[...others, `issuer=${name}`].join("&")}`;
}

function hyphenate(letters: string): string {
	return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}
