// Reports a sale: npm install @ringback/receiver, then node sender.mjs ORDER-1001 49.90
// The client signs, and tries again where that helps: an order is never recorded twice.
import { createClient } from "@ringback/receiver";

const client = createClient({
	url: process.env.RINGBACK_URL ?? "https://ringback.example",
	apiKey: process.env.RINGBACK_API_KEY,
	secret: process.env.RINGBACK_SIGNING_SECRET,
	brand: "Service", // the word in the header names
});

const [orderId, basketValue] = process.argv.slice(2); // amounts are strings
const result = await client.record({ orderId, basketValue });
if (result.ok) {
	console.log(result.outcome, result.conversion);
} else {
	console.error(result.kind, result.code ?? "", result.detail);
	process.exitCode = 1;
}
