// The hostile shops as seen from the service's process: where they are, what they are told, what they saw.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { SeenRequest, ShopReport } from "./hostile-shop.ts";
import type { Answered, Opened, Order } from "./shop-process.ts";

export interface ShopStreet {
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

export async function openShopStreet(): Promise<ShopStreet> {
	const child = fork(new URL("./shop-process.ts", import.meta.url), {
		serialization: "advanced",
		execArgv: [],
	});
	const { ports, trustedCa } = await waitUntilOpen(child);
	const waiting = new Map<number, PromiseWithResolvers<Answered>>();
	const requests: SeenRequest[] = [];
	let lastId = 0;
	let decoyConnections = 0;
	child.on("message", (answered: Answered) => {
		decoyConnections = answered.decoyConnections;
		requests.push(...answered.report.requests);
		waiting.get(answered.id)?.resolve(answered);
		waiting.delete(answered.id);
	});
	child.once("exit", (code) => {
		for (const { reject } of waiting.values()) reject(new Error(`the hostile shops ended with ${code}`));
	});

	function tell(order: Order): Promise<Answered> {
		lastId += 1;
		const id = lastId;
		const answered = Promise.withResolvers<Answered>();
		waiting.set(id, answered);
		child.send({ id, order });
		return answered.promise;
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
		report: async (shop) => (await tell({ kind: "report", shop })).report,
		async close() {
			const exited = once(child, "exit");
			child.disconnect();
			await exited;
		},
	};
}

function waitUntilOpen(child: ChildProcess): Promise<Opened> {
	return new Promise((resolve, reject) => {
		child.once("message", resolve);
		child.once("exit", (code) =>
			reject(new Error(`the hostile shops ended with ${code} before they opened`)),
		);
	});
}
