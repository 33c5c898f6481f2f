// Reports the sales of several shops as fast as they are answered. The requests are signed before the
// measurement starts. Arguments: URL, file with the shops, requests, connections, prefix of the order ids.

import { readFileSync } from "node:fs";
import { canonicalString, sha256Hex, sign, signingKey } from "../src/domain/signature.ts";
import { createRandom } from "../src/outside/random.ts";
import { generateLoad } from "./generate-load.ts";
import type { LoadShop } from "./load-process.ts";

const [url = "", shopsFile = "", requests = "", connections = "", prefix = ""] = process.argv.slice(2);
const TARGET = "/v1/conversions";

const shops: LoadShop[] = JSON.parse(readFileSync(shopsFile, "utf8"));
const signed = signAll(Number(requests));
await generateLoad({
	url,
	requests: signed.length,
	connections: Number(connections),
	perSecond: 0,
	requestAt: (number) => signed[number] ?? Buffer.alloc(0),
});

function signAll(count: number): Buffer[] {
	const random = createRandom();
	const keys = shops.map(({ secret }) => signingKey(secret));
	const timestamp = String(Math.floor(Date.now() / 1_000));
	return Array.from({ length: count }, (_, number) => {
		const shop = number % shops.length;
		const key = keys[shop] ?? signingKey("");
		const body = JSON.stringify({
			orderId: `${prefix}${number}`,
			basketValue: "129.90",
			...shops[shop]?.fields,
		});
		const nonce = random.hex(16);
		const signature = sign(key, canonicalString("POST", TARGET, timestamp, nonce, sha256Hex(body)));
		return Buffer.from(
			[
				`POST ${TARGET} HTTP/1.1`,
				`Host: ${new URL(url).host}`,
				`Authorization: Bearer ${shops[shop]?.apiKey}`,
				"Content-Type: application/json",
				`Content-Length: ${Buffer.byteLength(body)}`,
				`X-Service-Timestamp: ${timestamp}`,
				`X-Service-Nonce: ${nonce}`,
				`X-Service-Signature: ${signature}`,
				"",
				body,
			].join("\r\n"),
		);
	});
}
