// The shops that callbacks go to: the first ones hang, the others answer at once.

import { forkProcess } from "../support/forked-process.ts";
import { SHOPS_MESSAGES, type ShopArrivals } from "./shops-messages.ts";

export interface Shops {
	caPem: string;
	/** One a shop; the first `hanging` of them hang. */
	urls: readonly string[];
	hanging: number;
	arrivals(): Promise<ShopArrivals[]>;
	close(): Promise<void>;
}

export async function openShops(count: number, hanging: number): Promise<Shops> {
	const script = new URL("./shop-process.ts", import.meta.url);
	const child = await forkProcess(script, [String(count), String(hanging)], SHOPS_MESSAGES);
	const { caPem, ports } = child.opened;
	return {
		caPem,
		urls: ports.map((port, shop) => `https://127.0.0.1:${port}/shop/${shop}`),
		hanging,
		arrivals: () => child.ask("report"),
		close: () => child.close(),
	};
}
