// Looking at the database of a round while services work on it.

import { setTimeout as wait } from "node:timers/promises";
import { type Condition, until } from "../support/until.ts";

/** Each look has a connection of its own, and costs those who are to be seen starting something, too. */
const LOOK_INTERVAL_MS = 80;

export function lookUntil(condition: Condition, describe?: () => string): Promise<void> {
	return until(condition, describe, () => wait(LOOK_INTERVAL_MS));
}
