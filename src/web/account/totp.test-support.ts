// What an authenticator app shows: RFC 6238 over the secret of the otpauth address. Written from the RFC, so
// that it checks the library and does not repeat it.

import { createHmac } from "node:crypto";

const PERIOD_MS = 30_000;

/** `secret` is base 32, as the app is given it. */
export function codeAt(secret: string, atMs: number): string {
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(Math.floor(atMs / PERIOD_MS)));
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
