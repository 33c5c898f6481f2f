// A shop's server for tests that must see every request. It sends one signed request (contract section 5, inbound),
// never retries it, and throws every error.

import { signedRequest } from "./signed-request.ts";

export interface ShopClient {
	post(path: string, body: object): Promise<{ outcome: string; conversion: { id: string; status: string } }>;
}

/** Error if the service received the request and refused it. */
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
	return {
		async post(path, body) {
			const signed = signedRequest("POST", path, { key: apiKey, secret }, { body, nowMs: nowMs() });
			const response = await fetch(`${serviceUrl}${path}`, {
				method: "POST",
				headers: signed.headers,
				body: await signed.arrayBuffer(),
			});
			if (!response.ok) throw new CallRefused(path, response.status, await response.text());
			return (await response.json()) as Awaited<ReturnType<ShopClient["post"]>>;
		},
	};
}
