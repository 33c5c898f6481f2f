// What the process that measures and the one that plays the shops say to each other.

import { z } from "zod";
import type { Messages } from "../support/forked-process.ts";

interface ShopsOpened {
	caPem: string;
	/** One a shop. */
	ports: number[];
}

export interface ShopArrivals {
	/** Conversion and event, as `cnv_… conversion.recorded`. */
	keys: string[];
	/** Requests, repeats included. */
	requests: number;
}

/** There is one thing to ask for: what arrived so far, by shop. */
export const SHOPS_MESSAGES: Messages<ShopsOpened, "report", ShopArrivals[]> = {
	name: "the shops",
	opened: z.object({ caPem: z.string(), ports: z.array(z.number()) }),
	order: z.literal("report"),
	answer: z.array(z.object({ keys: z.array(z.string()), requests: z.number() })),
};
