// The process that plays all hostile shops. It is separate from the service's process, so that measurements
// of that process cover only the service.

import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { serveParent } from "../support/forked-process.ts";
import { portOf } from "../support/port-of.ts";
import { ATTACKS } from "./attacks.ts";
import { makeCertificateSet } from "./certificates.ts";
import { type HostileShop, type ShopReport, startHostileShop } from "./hostile-shop.ts";

export interface Opened {
	/** Port of each shop, by the name of its attack. */
	ports: ReadonlyMap<string, number>;
	trustedCa: string;
}

/**
 * A command to a shop. The status is the one to answer with from now on, null to attack, or undefined to
 * request only a report.
 */
export interface Order {
	shop: string;
	status?: number | null;
}

export interface Answer {
	report: ShopReport;
	/** Number of connections to the address that redirects lead to. */
	decoyConnections: number;
}

/**
 * Delay before a report. Bytes that a shop sends shortly after its answer have then been sent, because timers
 * fire in order.
 */
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
