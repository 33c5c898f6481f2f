// The shops, in a process of their own, so that they do not disturb the measurement. Each shop is a TLS
// server. The first ones hang, so they accept a request and never answer. The process ends with its parent.

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { makeCertificates } from "../../demo/certificate.ts";
import { serveParent } from "../support/forked-process.ts";
import { portOf } from "../support/port-of.ts";

export interface ShopsOpened {
	caPem: string;
	/** URL of each shop. */
	urls: readonly string[];
}

export interface ShopArrivals {
	/** Conversion and event of each request, such as `cnv_… conversion.recorded`. */
	keys: ReadonlySet<string>;
	/** Number of requests, including repeats. */
	requests: number;
}

const HOST = "127.0.0.1";
const [shops = 0, hanging = 0] = process.argv.slice(2).map(Number);
const arrivals = Array.from({ length: shops }, () => ({ keys: new Set<string>(), requests: 0 }));

async function take(shop: number, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
	// The service may close the connection while the body is read. Such a request does not count as received.
	const chunks = await incoming.toArray().catch(() => undefined);
	const arrived = arrivals[shop];
	if (chunks === undefined || arrived === undefined) return;
	const { conversionId, event } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
	arrived.requests++;
	arrived.keys.add(`${conversionId} ${event}`);
	if (shop >= hanging) response.writeHead(204).end();
}

const { caPem, certPem: cert, keyPem: key } = await makeCertificates({ names: [HOST] });
const urls: string[] = [];
for (let shop = 0; shop < shops; shop++) {
	const server = createServer({ cert, key }, (incoming, response) => take(shop, incoming, response));
	await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
	urls.push(`https://${HOST}:${portOf(server)}/shop/${shop}`);
}
serveParent<ShopsOpened, "report", readonly ShopArrivals[]>({ caPem, urls }, () => arrivals);
