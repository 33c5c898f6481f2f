// What a test and the process that sends requests without waiting for answers say to each other.

import { z } from "zod";
import type { Messages } from "../support/forked-process.ts";

const order = z.object({
	port: z.number(),
	connections: z.number(),
	/** On each connection, all at once. */
	requests: z.number(),
	/** How often each connection is opened again once it has been hung up on. */
	rounds: z.number(),
	/** Asked for in turn. */
	paths: z.array(z.string()),
});

/** How many connections were hung up on: all, or it does not answer. */
const answer = z.number();

export const PIPELINED_FLOOD_MESSAGES: Messages<null, z.infer<typeof order>, number> = {
	name: "the flood of requests",
	opened: z.null(),
	order,
	answer,
};
