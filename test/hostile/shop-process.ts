// The process that plays every hostile shop. Apart from the service's, so that what is measured there is the
// service alone.

import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { serveParent } from "../support/forked-process.ts";
import { portOf } from "../support/port-of.ts";
import { ATTACKS } from "./attacks.ts";
import { makeCertificateSet } from "./certificates.ts";
import { type HostileShop, type ShopReport, startHostileShop } from "./hostile-shop.ts";

export interface Opened {
	/** By the attack's name. */
	ports: ReadonlyMap<string, number>;
	trustedCa: string;
}

/** The status with which it behaves from now on, null for an attack; undefined where only its report is wanted. */
export interface Order {
	shop: string;
	status?: number | null;
}

export interface Answer {
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
const certificates = await makeCertificateSet();
const shops = new Map<string, HostileShop>();
for (const attack of ATTACKS) {
	shops.set(attack.name, await startHostileShop(attack, certificates, portOf(decoy)));
}

const ports = new Map([...shops].map(([name, { port }]) => [name, port]));
const { trustedCa } = certificates;
serveParent<Opened, Order, Answer>({ ports, trustedCa }, async ({ shop: name, status }) => {
	const shop = shops.get(name);
	if (shop === undefined) throw new Error(`there is no shop that ${name}`);
	if (status !== undefined) {
		shop.behave(status);
		await wait(MOMENT_MS);
	}
	return { report: shop.report(), decoyConnections };
});
