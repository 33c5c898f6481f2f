// Sends a mix of signed calls as fast as they are answered. Repeats, approvals and refunds are about sales that were
// reported before, each about another one. Arguments: URL, file with the shops, calls, connections, prefix of the
// order ids of the earlier sales, prefix of the new ones.

import { readFileSync } from "node:fs";
import { generateLoad } from "./generate-load.ts";
import { type LoadShop, saleFields } from "./load-process.ts";
import { earlierSales, MIX, type MixedCall } from "./mixed-calls.ts";
import { createCallSigner, outcomeIn } from "./signed-calls.ts";

const [url = "", shopsFile = "", calls = "", connections = "", earlier = "", prefix = ""] =
	process.argv.slice(2);

const shops: LoadShop[] = JSON.parse(readFileSync(shopsFile, "utf8"));
const signCall = createCallSigner(url, shops);
const next: Record<MixedCall, number> = { sale: 0, ...earlierSales(Number(calls)).firstOf };
const signed = Array.from({ length: Number(calls) }, (_, number) => signNext(callAt(number)));
await generateLoad({
	url,
	requests: signed.length,
	connections: Number(connections),
	perSecond: 0,
	requestAt: (number) => signed[number] ?? Buffer.alloc(0),
	nameAnswer(number, status, readBody) {
		const body = readBody();
		const differs = body.includes('"differs"') ? " with differences" : "";
		return `${callAt(number)} ${status} ${outcomeIn(body)}${differs}`;
	},
});

function callAt(number: number): MixedCall {
	return MIX[number % MIX.length] ?? "sale";
}

function signNext(call: MixedCall): Buffer {
	const order = next[call]++;
	const sale = saleFields(call === "sale" ? prefix : earlier, order);
	const { orderId } = sale;
	switch (call) {
		case "sale":
		case "repeat":
			return signCall(order, "/v1/conversions", sale);
		case "approval":
			return signCall(order, "/v1/approvals", { orderId });
		case "refund":
			return signCall(order, "/v1/refunds", {
				orderId,
				refundId: "R-1",
				amount: "30.00",
				reason: "RETURN",
			});
		default:
			return call satisfies never;
	}
}
