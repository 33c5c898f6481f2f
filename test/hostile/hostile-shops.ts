// The hostile shops as seen from the service's process: where they are, what they are told, what they saw.

import { forkProcess } from "../support/forked-process.ts";
import type { SeenRequest, ShopReport } from "./hostile-shop.ts";
import { type Order, SHOPS_MESSAGES } from "./shops-messages.ts";

export interface HostileShops {
	/** PEM of the CAs that the service must trust to get as far as each attack. */
	readonly trustedCa: string;
	/** Of every shop, in the order of the reports. */
	readonly requests: readonly SeenRequest[];
	/** Connections to where redirects lead: there must be none. */
	readonly decoyConnections: number;
	url(shop: string): string;
	/** Each resolves when it holds, and what the shop still had to do before is done. */
	attack(shop: string): Promise<void>;
	behave(shop: string, status: number): Promise<void>;
	report(shop: string): Promise<ShopReport>;
	close(): Promise<void>;
}

export async function openHostileShops(): Promise<HostileShops> {
	const child = await forkProcess(new URL("./shop-process.ts", import.meta.url), [], SHOPS_MESSAGES);
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
		async attack(shop) {
			await tell({ kind: "attack", shop });
		},
		async behave(shop, status) {
			await tell({ kind: "behave", shop, status });
		},
		report: (shop) => tell({ kind: "report", shop }),
		close: () => child.close(),
	};
}
