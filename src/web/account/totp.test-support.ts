// An authenticator: what the app shows, and how a person turns it on. The codes are written from RFC 6238, so that they
// check the library and do not repeat it.

import { equal, notEqual } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type Browser, PASSWORD } from "../test-site.test-support.ts";

/** A code is another one after this. */
export const CODE_STEP_MS = 30_000;

export interface AuthenticatorSetup {
	secret: string;
	backupCodes: string[];
	/** What was shown. */
	text: string;
}

/** In a browser that is signed in: everything up to the first code. */
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

/** `secret` is base 32, as the app is given it. */
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
