// Reports one sale as a shop's server does. It signs the bytes, makes one call and reads the answer.

import type { Client, Pool } from "undici";
import { canonicalString, sha256Hex, sign, signingKey } from "#core/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";
import type { SeededShop } from "./seed-shops.ts";

/**
 * A sale that was reported, with its times in milliseconds since 1970, with fractions. The clocks of all
 * processes on a machine agree.
 */
export interface ReportedSale {
	conversion: string;
	postedAtMs: number;
	/** Time at which the whole answer had been read. */
	answeredAtMs: number;
}

const TARGET = "/v1/conversions";
const random = createRandom();

export async function reportSale(
	service: Client | Pool,
	shop: SeededShop,
	orderId: string,
): Promise<ReportedSale> {
	const body = JSON.stringify({ orderId, basketValue: "129.90" });
	const headers = sealed(shop, TARGET, body);
	const postedAtMs = nowMs();
	const answer = await service.request({ path: TARGET, method: "POST", headers, body });
	const text = await answer.body.text();
	const answeredAtMs = nowMs();
	const conversion = /"id":"(cnv_\w+)"/.exec(text)?.[1];
	if (conversion === undefined) throw new Error(`a sale was answered ${answer.statusCode}: ${text}`);
	return { conversion, postedAtMs, answeredAtMs };
}

export function sealed(
	{ secret, apiKey }: Pick<SeededShop, "secret" | "apiKey">,
	target: string,
	body: string,
): Record<string, string> {
	const timestamp = String(Math.floor(Date.now() / 1_000));
	const nonce = random.hex(16);
	const canonical = canonicalString("POST", target, timestamp, nonce, sha256Hex(body));
	return {
		authorization: `Bearer ${apiKey}`,
		"content-type": "application/json",
		"x-service-timestamp": timestamp,
		"x-service-nonce": nonce,
		"x-service-signature": sign(signingKey(secret), canonical),
	};
}

export function nowMs(): number {
	return performance.timeOrigin + performance.now();
}
