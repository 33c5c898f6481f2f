// What a test and the process that floods a listener say to each other.

import { z } from "zod";
import type { Messages } from "./forked-process.ts";

const order = z.discriminatedUnion("kind", [
	z.object({ kind: z.literal("flood"), port: z.number(), connections: z.number() }),
	z.object({ kind: z.literal("report") }),
]);

/** Connections it holds now, and has had in all. */
const answer = z.object({ open: z.number(), opened: z.number() });

export type FloodOrder = z.infer<typeof order>;
export type FloodAnswer = z.infer<typeof answer>;

export const CONNECTION_FLOOD_MESSAGES: Messages<null, FloodOrder, FloodAnswer> = {
	name: "the flood of connections",
	opened: z.null(),
	order,
	answer,
};
