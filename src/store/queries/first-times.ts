// When something first worked for a programme. Written once, in the transaction of what it tells of: a check that is
// ticked stays ticked, however much comes after it, and nobody reads a history to see it.

import type { Db } from "../store.ts";
import { countUsableKeys } from "./keys.ts";

export type FirstTime = "first_signed_at_ms" | "first_pixel_at_ms" | "first_callback_at_ms";

export async function noteFirstTime(
	trx: Db,
	what: FirstTime,
	programmeIds: readonly number[],
	nowMs: number,
): Promise<void> {
	if (programmeIds.length === 0) return;
	const first = trx.updateTable("programmes").set({ [what]: nowMs });
	await first.where("id", "in", programmeIds).where(what, "is", null).execute();
}

/** Whether a programme's integration works, as the page's checks ask it. */
export interface IntegrationChecks {
	hasKey: boolean;
	hasSignedRequest: boolean;
	/** One that counts: that the shop's server confirms, or of a programme that does not park them. */
	hasPixel: boolean;
	hasCallback: boolean;
}

export async function readIntegrationChecks(db: Db, programmeId: number): Promise<IntegrationChecks> {
	const first = await db
		.selectFrom("programmes")
		.select(["first_signed_at_ms", "first_pixel_at_ms", "first_callback_at_ms"])
		.where("id", "=", programmeId)
		.executeTakeFirstOrThrow();
	return {
		hasKey: (await countUsableKeys(db, programmeId)) > 0,
		hasSignedRequest: first.first_signed_at_ms !== null,
		hasPixel: first.first_pixel_at_ms !== null,
		hasCallback: first.first_callback_at_ms !== null,
	};
}
