// Polls the database of a round while services work on it.

import { setTimeout as wait } from "node:timers/promises";
import { type Condition, until } from "../support/until.ts";

/** Interval between two polls. Each poll opens a connection, which also takes time from the services. */
const LOOK_INTERVAL_MS = 80;

export function lookUntil(condition: Condition, describe?: () => string): Promise<void> {
	return until(condition, describe, () => wait(LOOK_INTERVAL_MS));
}
