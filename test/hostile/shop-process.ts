// The process that plays every hostile shop. Apart from the service's, so that what is measured there is the
// service alone.

import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { serveParent } from "../support/forked-process.ts";
import { portOf } from "../support/port-of.ts";
import { ATTACKS } from "./attacks.ts";
import { makeCertificateSet } from "./certificates.ts";
import { type HostileShop, startHostileShop } from "./hostile-shop.ts";
import { type Order, SHOPS_MESSAGES } from "./shops-messages.ts";

/** What a shop does a moment after its answer is on the wire by then: timers fire in order. */
const MOMENT_MS = 50;

let decoyConnections = 0;
const decoy = createServer((socket) => {
	decoyConnections += 1;
	socket.destroy();
});
await new Promise<void>((resolve) => decoy.listen(0, "127.0.0.1", resolve));
const certificates = await makeCertificateSet();
const shops = new Map<string, HostileShop>();
for (const attack of ATTACKS) {
	shops.set(attack.name, await startHostileShop(attack, certificates, portOf(decoy)));
}

async function obey(order: Order, shop: HostileShop): Promise<void> {
	switch (order.kind) {
		case "attack":
			shop.attack();
			return wait(MOMENT_MS);
		case "behave":
			shop.behave(order.status);
			return wait(MOMENT_MS);
		case "report":
			return;
		default:
			order satisfies never;
	}
}

const ports = new Map([...shops].map(([name, { port }]) => [name, port]));
serveParent(SHOPS_MESSAGES, { ports, trustedCa: certificates.trustedCa }, async (order) => {
	const shop = shops.get(order.shop);
	if (shop === undefined) throw new Error(`there is no shop that ${order.shop}`);
	await obey(order, shop);
	return { report: shop.report(), decoyConnections };
});
