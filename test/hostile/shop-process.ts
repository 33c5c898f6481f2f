// The process that plays every hostile shop. Apart from the service's, so that what is measured there is the
// service alone.

import { type AddressInfo, createServer } from "node:net";
import { ATTACKS } from "./attacks.ts";
import { makeCertificateSet } from "./certificates.ts";
import { type HostileShop, type ShopReport, startHostileShop } from "./hostile-shop.ts";

export type Order =
	| { kind: "attack"; shop: string }
	| { kind: "behave"; shop: string; status: number }
	| { kind: "report"; shop: string };

export interface Opened {
	kind: "opened";
	ports: ReadonlyMap<string, number>;
	trustedCa: string;
}

export interface Answered {
	kind: "answered";
	id: number;
	report: ShopReport;
	/** Connections to where redirects lead. */
	decoyConnections: number;
}

/** What a shop does a moment after its answer is on the wire by then: timers fire in order. */
const MOMENT_MS = 50;

let decoyConnections = 0;
const decoy = createServer((socket) => {
	decoyConnections += 1;
	socket.destroy();
});
await new Promise<void>((resolve) => decoy.listen(0, "127.0.0.1", resolve));
const { port: decoyPort } = decoy.address() as AddressInfo;
const certificates = await makeCertificateSet();
const shops = new Map<string, HostileShop>();
for (const attack of ATTACKS) {
	shops.set(attack.name, await startHostileShop(attack, certificates, decoyPort));
}

function obey(order: Order, shop: HostileShop): void {
	switch (order.kind) {
		case "attack":
			shop.attack();
			break;
		case "behave":
			shop.behave(order.status);
			break;
		case "report":
			break;
		default:
			order satisfies never;
	}
}

function send(message: Opened | Answered): void {
	process.send?.(message);
}

process.on("message", ({ id, order }: { id: number; order: Order }) => {
	const shop = shops.get(order.shop);
	if (shop === undefined) throw new Error(`there is no shop that ${order.shop}`);
	obey(order, shop);
	const answer = () => send({ kind: "answered", id, report: shop.report(), decoyConnections });
	if (order.kind === "report") answer();
	else setTimeout(answer, MOMENT_MS);
});
process.once("disconnect", () => process.exit());
send({
	kind: "opened",
	ports: new Map([...shops].map(([name, { port }]) => [name, port])),
	trustedCa: certificates.trustedCa,
});
