// What the process that measures and the one that floods say to each other.

import { z } from "zod";
import type { Messages } from "../support/forked-process.ts";

/** There is one thing to ask for: how many calls were answered so far. */
export const PIXEL_FLOOD_MESSAGES: Messages<"flooding", "report", number> = {
	name: "the flood of pixel calls",
	opened: z.literal("flooding"),
	order: z.literal("report"),
	answer: z.number(),
};
