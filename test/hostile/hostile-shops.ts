// The hostile shops as the service's process sees them: their addresses, the commands to them, and their
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
		/** PEM of the CAs that the service must trust, so that it reaches each attack. */
		trustedCa,
		/** Requests to all shops, in the order in which the shops reported them. */
		requests,
		/** Number of connections to the address that redirects lead to. It must be zero. */
		get decoyConnections() {
			return decoyConnections;
		},
		url: (shop: string) => `https://127.0.0.1:${ports.get(shop)}/postback?shop=1`,
		/**
		 * Sets the HTTP status that a shop answers with. If it is null, the shop attacks instead. Resolves when
		 * the change has taken effect and the shop's earlier work is done.
		 */
		behave: (shop: string, status: number | null) => tell({ shop, status }),
		report: (shop: string) => tell({ shop }),
		close: () => child.close(),
	};
}
