// Whether a programme's integration works, as the page's checks ask it: is there a key, and has a signed request, a
// pixel, a callback ever gone through.

import type { Db } from "./store.ts";

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
		hasKey: await hasUsableKey(db, programmeId),
		hasSignedRequest: first.first_signed_at_ms !== null,
		hasPixel: first.first_pixel_at_ms !== null,
		hasCallback: first.first_callback_at_ms !== null,
	};
}

async function hasUsableKey(db: Db, programmeId: number): Promise<boolean> {
	const row = await db
		.selectFrom("api_keys")
		.select("id")
		.where("programme_id", "=", programmeId)
		.where("revoked_at_ms", "is", null)
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}
