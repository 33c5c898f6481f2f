// Reports a sale: node sender.mjs ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]. Needs our package:
// npm install https://ringback.example/downloads/ringback-receiver-1.0.0.tgz
// The client signs each request and retries: an order is never recorded twice.
import { createClient } from "@ringback/receiver";

const { RINGBACK_API_KEY: apiKey, RINGBACK_SIGNING_SECRET: secret } = process.env;
const [orderId, basketValue, clickId, couponCode] = process.argv.slice(2); // amounts are strings
if (!apiKey || !secret || !basketValue) {
	console.error("Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.");
	process.exit(2);
}

const client = createClient({
	url: process.env.RINGBACK_URL ?? "https://ringback.example",
	apiKey,
	secret,
	brand: "Service", // the word in the header names
});

const result = await client.record({ orderId, basketValue, clickId, couponCode });
if (result.ok) {
	console.log(result.outcome, result.credit ?? "", result.conversion);
} else {
	console.error(result.kind, result.code ?? "", result.detail);
	process.exitCode = 1;
}
