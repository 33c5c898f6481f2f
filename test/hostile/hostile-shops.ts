// The hostile shops as seen from the service's process: where they are, what they are told, what they saw.

import { forkProcess } from "../support/forked-process.ts";
import type { SeenRequest, ShopReport } from "./hostile-shop.ts";
import type { Answer, Opened, Order } from "./shop-process.ts";

export interface HostileShops {
	/** PEM of the CAs that the service must trust to get as far as each attack. */
	readonly trustedCa: string;
	/** Of every shop, in the order of the reports. */
	readonly requests: readonly SeenRequest[];
	/** Connections to where redirects lead: there must be none. */
	readonly decoyConnections: number;
	url(shop: string): string;
	/** With null it attacks. Resolves when it holds, and what the shop still had to do before is done. */
	behave(shop: string, status: number | null): Promise<unknown>;
	report(shop: string): Promise<ShopReport>;
	close(): Promise<void>;
}

export async function openHostileShops(): Promise<HostileShops> {
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
		trustedCa,
		requests,
		get decoyConnections() {
			return decoyConnections;
		},
		url: (shop) => `https://127.0.0.1:${ports.get(shop)}/postback?shop=1`,
		behave: (shop, status) => tell({ shop, status }),
		report: (shop) => tell({ shop }),
		close: () => child.close(),
	};
}
