// The hostile shops as seen from the service's process: where they are, what they are told, what they saw.

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
		/** PEM of the CAs that the service must trust to get as far as each attack. */
		trustedCa,
		/** Of every shop, in the order of the reports. */
		requests,
		/** Connections to where redirects lead: there must be none. */
		get decoyConnections() {
			return decoyConnections;
		},
		url: (shop: string) => `https://127.0.0.1:${ports.get(shop)}/postback?shop=1`,
		/** With null it attacks. Resolves when it holds, and what the shop still had to do before is done. */
		behave: (shop: string, status: number | null) => tell({ shop, status }),
		report: (shop: string) => tell({ shop }),
		close: () => child.close(),
	};
}
