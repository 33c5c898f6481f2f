// What the pages about conversions need.

import type { BulkRunner } from "../../conversions/bulk-runner.ts";
import type { ConversionsDeps } from "../../conversions/deps.ts";
import type { Slots } from "../slots.ts";

export interface ConversionPagesDeps extends ConversionsDeps {
	/** Told when there is a job to work on. */
	bulk: Pick<BulkRunner, "wake">;
	/** How many files may be on their way at once. */
	exportSlots: Slots;
	/** Seals the cursors of lists. */
	sealingKey: Uint8Array;
}
