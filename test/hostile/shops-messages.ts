// What the service's process and the one that plays the hostile shops say to each other.

import { z } from "zod";
import type { Messages } from "../support/forked-process.ts";
import type { ShopReport } from "./hostile-shop.ts";

export type Order = z.infer<typeof order>;

interface Opened {
	/** By the attack's name. */
	ports: ReadonlyMap<string, number>;
	trustedCa: string;
}

interface Answer {
	report: ShopReport;
	/** Connections to where redirects lead. */
	decoyConnections: number;
}

const order = z.discriminatedUnion("kind", [
	z.object({ kind: z.literal("attack"), shop: z.string() }),
	z.object({ kind: z.literal("behave"), shop: z.string(), status: z.number() }),
	z.object({ kind: z.literal("report"), shop: z.string() }),
]);

const request = z.object({
	method: z.string(),
	path: z.string(),
	rawHeaders: z.array(z.string()),
	body: z.instanceof(Buffer),
	connectionId: z.number(),
	arrivedAtMs: z.number(),
	answered: z.number().nullable(),
});

export const SHOPS_MESSAGES: Messages<Opened, Order, Answer> = {
	name: "the hostile shops",
	opened: z.object({ ports: z.map(z.string(), z.number()), trustedCa: z.string() }),
	order,
	answer: z.object({
		report: z.object({
			openConnections: z.number(),
			sentBytes: z.number(),
			requests: z.array(request),
		}),
		decoyConnections: z.number(),
	}),
};
