// Reports a sale: node sender.mjs ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]. Needs our package:
// npm install https://ringback.example/downloads/ringback-receiver-1.0.0.tgz
// The client signs each request and retries: an order is never recorded twice.
// Ends with 0: on record. 1: refused, correct the sale. 2: a setting or argument is malformed.
// 75: keep the sale and run it again later. 78: the same, after you correct a setting.
import { createClient } from "@ringback/receiver";

const { RINGBACK_API_KEY: apiKey, RINGBACK_SIGNING_SECRET: secret } = process.env;
const [orderId, basketValue, clickId, couponCode] = process.argv.slice(2); // amounts are strings
if (!apiKey || !secret || !basketValue) {
	console.error("Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.");
	process.exit(2);
}

const client = connect();
const result = await client.record({ orderId, basketValue, clickId, couponCode });
if (result.ok) {
	console.log(result.outcome, result.credit ?? "", result.conversion);
} else {
	console.error(result.kind, result.code ?? "", result.detail);
	if (!result.retryable) process.exitCode = 1;
	else process.exitCode = result.kind === "misconfigured" ? 78 : 75;
}

function connect() {
	try {
		return createClient({
			url: process.env.RINGBACK_URL ?? "https://ringback.example",
			apiKey,
			secret, // NEW,OLD while it is being replaced: the first one signs
			brand: "Service", // the word in the header names
		});
	} catch (error) {
		// Uncaught, it would end the program with 1, as a refusal does.
		console.error(String(error));
		process.exit(2);
	}
}
