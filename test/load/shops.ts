// The street of shops that callbacks go to: the first ones hang, the others answer at once.

import { fork } from "node:child_process";
import { once } from "node:events";
import type { ShopArrivals, ShopsOpened } from "./shop-process.ts";

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
	// "advanced": the report of a long run is megabytes of text, and JSON would take its time over it.
	const child = fork(script, [String(count), String(hanging)], { serialization: "advanced" });
	const [opened]: [ShopsOpened] = await onceMessage(child);
	return {
		caPem: opened.caPem,
		urls: opened.ports.map((port, shop) => `https://127.0.0.1:${port}/shop/${shop}`),
		hanging,
		async arrivals() {
			const answer = onceMessage<ShopArrivals[]>(child);
			child.send("report");
			return (await answer)[0];
		},
		async close() {
			const gone = once(child, "exit");
			if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
			else return;
			await gone;
		},
	};
}

/** Our own process on the other side: it says what its types say, or ends. */
async function onceMessage<Message>(child: ReturnType<typeof fork>): Promise<[Message]> {
	const ended = once(child, "exit").then(() => {
		throw new Error("the shops' process ended");
	});
	// Only whoever waits for a message wants to hear of it.
	ended.catch(() => undefined);
	return (await Promise.race([once(child, "message"), ended])) as [Message];
}
