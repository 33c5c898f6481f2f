// What the pages about conversions need.

import type { ConversionsDeps } from "../../conversions/deps.ts";
import type { Slots } from "../slots.ts";

export interface ConversionPagesDeps extends ConversionsDeps {
	/** Told when there is a job to work on. */
	bulk: { wake(): void };
	/** How many files may be on their way at once. */
	exportSlots: Slots;
	/** Seals the cursors of lists. */
	sealingKey: Uint8Array;
}
