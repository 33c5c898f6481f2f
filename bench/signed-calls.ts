// Writes signed calls of shops as bytes, so that a generator signs before the measurement and only writes to sockets
// during it.

import { canonicalString, sha256Hex, sign, signingKey } from "#core/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";
import type { SeededShop } from "./seed-shops.ts";

const NONCE_BYTES = 16;

/** Returns a function that signs a POST of the shop with this number. After the last shop the first one follows. */
export function createCallSigner(
	url: string,
	shops: readonly SeededShop[],
): (shopNumber: number, target: string, fields: object) => Buffer {
	const random = createRandom();
	const callers = shops.map(({ secret, apiKey }) => ({ key: signingKey(secret), apiKey }));
	const { host } = new URL(url);
	return (shopNumber, target, fields) => {
		const caller = callers[shopNumber % callers.length];
		if (caller === undefined) throw new Error("there is no shop");
		const body = JSON.stringify(fields);
		const timestamp = String(Math.floor(Date.now() / 1_000));
		const nonce = random.hex(NONCE_BYTES);
		const signature = sign(caller.key, canonicalString("POST", target, timestamp, nonce, sha256Hex(body)));
		return Buffer.from(
			[
				`POST ${target} HTTP/1.1`,
				`Host: ${host}`,
				`Authorization: Bearer ${caller.apiKey}`,
				"Content-Type: application/json",
				`Content-Length: ${Buffer.byteLength(body)}`,
				`X-Service-Timestamp: ${timestamp}`,
				`X-Service-Nonce: ${nonce}`,
				`X-Service-Signature: ${signature}`,
				"",
				body,
			].join("\r\n"),
		);
	};
}

/** Returns the outcome word in the body of an answer, or an empty text if there is none. */
export function outcomeIn(body: string): string {
	return /"outcome":"(\w+)"/.exec(body)?.[1] ?? "";
}
