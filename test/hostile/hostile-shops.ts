// The hostile shops from the point of view of the service's process: their addresses, the orders to them, and their
// reports.

import { forkProcess } from "../support/forked-process.ts";
import type { SeenRequest, ShopReport } from "./hostile-shop.ts";
import type { Answer, Opened, Order } from "./shop-process.ts";

export type HostileShops = Awaited<ReturnType<typeof openHostileShops>>;

export async function openHostileShops() {
	const script = new URL("./shop-process.ts", import.meta.url);
	const child = await forkProcess<Opened, Order, Answer>(script);
	const { ports, trustedCa } = child.opened;
	const requests: SeenRequest[] = [];
	let decoyConnections = 0;

	async function tell(order: Order): Promise<ShopReport> {
		const answer = await child.ask(order);
		decoyConnections = answer.decoyConnections;
		requests.push(...answer.report.requests);
		return answer.report;
	}

	return {
		/** PEM of the CAs that the service must trust to reach each attack. */
		trustedCa,
		/** Requests to all shops, in the order of the reports. */
		requests,
		/** Number of connections to the target of the redirects, which must be zero. */
		get decoyConnections() {
			return decoyConnections;
		},
		url: (shop: string) => `https://127.0.0.1:${ports.get(shop)}/postback?shop=1`,
		/**
		 * Sets a shop's status, or null for an attack. Resolves when it is in force and the shop's earlier work is
		 * done.
		 */
		behave: (shop: string, status: number | null) => tell({ shop, status }),
		report: (shop: string) => tell({ shop }),
		close: () => child.close(),
	};
}
