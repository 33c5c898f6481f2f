// What a test and the process of slow clients say to each other.

import { z } from "zod";
import type { Messages } from "../support/forked-process.ts";

const order = z.object({
	/** Where they connect to, by TLS or not. */
	url: z.string(),
	/** What never ends on each connection: the head it sends, the body it sends, or the answer it reads. */
	what: z.enum(["head", "body", "answer"]),
	connections: z.number(),
	/** Of the loopback, from which they come in turn. */
	addresses: z.array(z.string()),
});

/** Connections they hold now, and have had in all. */
const answer = z.object({ open: z.number(), opened: z.number() });

export type SlowClientsOrder = z.infer<typeof order>;
export type SlowClientsAnswer = z.infer<typeof answer>;

export const SLOW_CLIENTS_MESSAGES: Messages<null, SlowClientsOrder, SlowClientsAnswer> = {
	name: "the slow clients",
	opened: z.null(),
	order,
	answer,
};
