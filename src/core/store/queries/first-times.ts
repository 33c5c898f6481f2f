// The first time at which something worked for a programme. The time is written once, together with the event (BatchRows).
// So a check on the page stays ticked, and no history has to be read.

import type { Db } from "../store.ts";
import { countUsableKeys } from "./keys.ts";

/** Parts of a programme's integration that have worked at least once. */
export interface IntegrationChecks {
	hasKey: boolean;
	hasSignedRequest: boolean;
	/**
	 * Whether a pixel call has counted as a sale. It has if the shop's server confirmed it, or if the programme does
	 * not park pixel reports.
	 */
	hasPixel: boolean;
	hasCallback: boolean;
}

export async function readIntegrationChecks(db: Db, programmeId: number): Promise<IntegrationChecks> {
	const first = await db
		.selectFrom("programmes")
		.innerJoin("receivers", "receivers.programme_id", "programmes.id")
		.select(["first_signed_at_ms", "first_pixel_at_ms", "first_callback_at_ms"])
		.where("programmes.id", "=", programmeId)
		.executeTakeFirstOrThrow();
	return {
		hasKey: (await countUsableKeys(db, programmeId)) > 0,
		hasSignedRequest: first.first_signed_at_ms !== null,
		hasPixel: first.first_pixel_at_ms !== null,
		hasCallback: first.first_callback_at_ms !== null,
	};
}
