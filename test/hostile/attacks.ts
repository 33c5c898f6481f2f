// Every attack there is.

import { ANSWER_ATTACKS } from "./answer-attacks.ts";
import type { Attack } from "./attack.ts";
import { FLOOD_ATTACKS } from "./flood-attacks.ts";
import { HANDSHAKE_ATTACKS } from "./handshake-attacks.ts";
import { ORDER_ATTACKS } from "./order-attacks.ts";
import { SLOW_ATTACKS } from "./slow-attacks.ts";
import { STATUS_ATTACKS } from "./status-attacks.ts";

export const ATTACKS: readonly Attack[] = [
	...SLOW_ATTACKS,
	...HANDSHAKE_ATTACKS,
	...ANSWER_ATTACKS,
	...FLOOD_ATTACKS,
	...STATUS_ATTACKS,
	...ORDER_ATTACKS,
];
