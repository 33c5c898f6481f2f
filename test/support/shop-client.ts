// A shop's server in tests that must see each try for itself: one signed request (contract section 5, inbound),
// no second, and whatever goes wrong is thrown.

import { randomBytes } from "node:crypto";
import { canonicalString, sha256Hex, sign, signingKey } from "../../src/domain/signature.ts";

export interface ShopClient {
	post(path: string, body: object): Promise<{ outcome: string; conversion: { id: string; status: string } }>;
}

/** The service heard the request and did not do it. */
export class CallRefused extends Error {
	readonly httpStatus: number;

	constructor(path: string, httpStatus: number, answer: string) {
		super(`${path} answered ${httpStatus}: ${answer}`);
		this.httpStatus = httpStatus;
	}
}

export function createShopClient(
	serviceUrl: string,
	apiKey: string,
	secret: string,
	nowMs: () => number,
): ShopClient {
	const key = signingKey(secret);
	return {
		async post(path, body) {
			const text = JSON.stringify(body);
			const timestamp = String(Math.floor(nowMs() / 1000));
			const nonce = randomBytes(16).toString("hex");
			const response = await fetch(`${serviceUrl}${path}`, {
				method: "POST",
				headers: {
					authorization: `Bearer ${apiKey}`,
					"content-type": "application/json",
					"x-service-timestamp": timestamp,
					"x-service-nonce": nonce,
					"x-service-signature": sign(key, canonicalString("POST", path, timestamp, nonce, sha256Hex(text))),
				},
				body: text,
			});
			if (!response.ok) throw new CallRefused(path, response.status, await response.text());
			return (await response.json()) as Awaited<ReturnType<ShopClient["post"]>>;
		},
	};
}
