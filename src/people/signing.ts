// Short texts that only this service can have written: form tokens, flash messages, cookies about a browser or
// a password. A key for each use, so that a token for one is worth nothing for another.

import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

export interface Signer {
	sign(text: string): string;
	isSignature(signature: string, text: string): boolean;
}

export function createSigner(
	sealingKey: Uint8Array,
	use: "forms" | "flash" | "devices" | "confirmations",
): Signer {
	const key = Buffer.from(hkdfSync("sha256", sealingKey, "", `ringback ${use}`, 32));
	const sign = (text: string): string => createHmac("sha256", key).update(text).digest("base64url");
	return {
		sign,
		isSignature(signature, text) {
			const given = Buffer.from(signature);
			const right = Buffer.from(sign(text));
			return given.length === right.length && timingSafeEqual(given, right);
		},
	};
}
