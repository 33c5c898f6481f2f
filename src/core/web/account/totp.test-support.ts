// Computes the codes that an authenticator app would show, and turns an authenticator on as a person does.
// The codes are computed directly from RFC 6238, so that the tests also check the library that the product
// uses.

import { equal, notEqual } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type Browser, PASSWORD } from "../test-site.test-support.ts";

/** Time for which the app shows the same code. */
export const CODE_STEP_MS = 30_000;

export interface AuthenticatorSetup {
	secret: string;
	backupCodes: string[];
	/** Text of the page that shows the key and the backup codes. */
	text: string;
}

/** Starts the set-up in a signed-in browser, but does not enter the first code. */
export async function beginAuthenticator(
	browser: Browser,
	currentPassword = PASSWORD,
): Promise<AuthenticatorSetup> {
	await browser.open("/account");
	const { text } = await browser.submit("/account/authenticator", { currentPassword });
	const [, secret = ""] = /data-copy="([A-Z2-7]{16,})"/.exec(text) ?? [];
	notEqual(secret, "", text);
	const backupCodes = text.match(/\b[2-9A-HJKMNP-Z]{5}-[2-9A-HJKMNP-Z]{5}\b(?=\n|<\/code>)/g) ?? [];
	return { secret, backupCodes: [...new Set(backupCodes)], text };
}

export async function turnAuthenticatorOn(
	browser: Browser,
	currentPassword = PASSWORD,
): Promise<AuthenticatorSetup & { usedCode: string }> {
	const setup = await beginAuthenticator(browser, currentPassword);
	const usedCode = codeAt(setup.secret, browser.nowMs());
	const on = await browser.submit("/account/authenticator/confirm", { code: usedCode });
	equal(on.status, 303, on.text);
	return { ...setup, usedCode };
}

/** Returns the code that the app shows at the given time. `secret` is in base 32, as the page shows it. */
export function codeAt(secret: string, atMs: number): string {
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(Math.floor(atMs / CODE_STEP_MS)));
	const digest = createHmac("sha1", decodeBase32(secret)).update(counter).digest();
	const offset = (digest.at(-1) ?? 0) & 15;
	return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}

function decodeBase32(text: string): Buffer {
	const bits = [...text.replace(/=+$/, "")]
		.map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"))
		.join("");
	return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
