// Reports the sales of several shops, as fast as they are answered or at a fixed rate. The requests are signed
// before the measurement starts. Arguments: URL, file with the shops, requests, connections, prefix of the order
// ids, sales a second (0 for as fast as possible).

import { readFileSync } from "node:fs";
import { generateLoad } from "./generate-load.ts";
import { type LoadShop, saleFields } from "./load-process.ts";
import { createCallSigner } from "./signed-calls.ts";

const [url = "", shopsFile = "", requests = "", connections = "", prefix = "", perSecond = ""] =
	process.argv.slice(2);

const shops: LoadShop[] = JSON.parse(readFileSync(shopsFile, "utf8"));
const signCall = createCallSigner(url, shops);
const signed = Array.from({ length: Number(requests) }, (_, number) =>
	signCall(number, "/v1/conversions", {
		...saleFields(prefix, number),
		...shops[number % shops.length]?.fields,
	}),
);
await generateLoad({
	url,
	requests: signed.length,
	connections: Number(connections),
	perSecond: Number(perSecond),
	requestAt: (number) => signed[number] ?? Buffer.alloc(0),
});
