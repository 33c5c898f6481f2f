// Builds one callback as the service sends it, signed over its bytes with the service's own rules. The bare
// loop and the peers use it.

import type { Dispatcher } from "undici";
import { bodySentAt } from "#core/domain/event.ts";
import { canonicalString, type SigningKey, sha256Hex, sign } from "#core/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";

export type SignedRequest = Dispatcher.DispatchOptions & {
	startedAtMs: number;
	nonce: string;
	signature: string;
};

const NONCE_BYTES = 16;
const random = createRandom();

export function signRequest(key: SigningKey, target: string, event: string): SignedRequest {
	const nowMs = Date.now();
	const body = bodySentAt("conversion.approved", event, nowMs);
	const timestamp = String(Math.floor(nowMs / 1000));
	const nonce = random.hex(NONCE_BYTES);
	const signature = sign(key, canonicalString("POST", target, timestamp, nonce, sha256Hex(body)));
	const headers = [
		"Content-Type",
		"application/json",
		"User-Agent",
		"service-postback/1",
		"X-Service-Event",
		"conversion.approved",
		"X-Service-Timestamp",
		timestamp,
		"X-Service-Nonce",
		nonce,
		"X-Service-Signature",
		signature,
	];
	return { path: target, method: "POST", headers, body, startedAtMs: nowMs, nonce, signature };
}
