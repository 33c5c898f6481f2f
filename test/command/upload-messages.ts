// What a test says to the process that sends uploads for it.

import { z } from "zod";
import type { Messages } from "../support/forked-process.ts";

const order = z.object({
	url: z.string(),
	path: z.string(),
	file: z.enum(["fourteen MiB", "40,000 rows"]),
	isChunked: z.boolean(),
	count: z.number(),
	/** In turn. */
	senders: z.array(z.object({ cookies: z.map(z.string(), z.string()) }).nullable()),
});

export type UploadOrder = z.infer<typeof order>;

/** The statuses that came back, and how many were hung up on. */
export const UPLOAD_MESSAGES: Messages<"ready", UploadOrder, ReadonlyMap<string, number>> = {
	name: "the sender of uploads",
	opened: z.literal("ready"),
	order,
	answer: z.map(z.string(), z.number()),
};
