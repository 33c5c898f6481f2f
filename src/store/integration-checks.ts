// Whether a programme's integration works, as the page's checks ask it: has a key, a signed request, a pixel, a
// callback ever gone through. "Ever" is as far as the newest rows tell, so that no check reads a whole history.

import type { Db } from "./store.ts";

export interface IntegrationChecks {
	hasKey: boolean;
	hasSignedRequest: boolean;
	hasPixel: boolean;
	hasCallback: boolean;
}

/** An integration that works shows it among its newest rows. */
const NEWEST_ROWS = 1_000;

export async function readIntegrationChecks(db: Db, programmeId: number): Promise<IntegrationChecks> {
	return {
		hasKey: await hasUsableKey(db, programmeId),
		hasSignedRequest: await hasSignedRequest(db, programmeId),
		hasPixel: await hasPixel(db, programmeId),
		hasCallback: await hasCallback(db, programmeId),
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

async function hasSignedRequest(db: Db, programmeId: number): Promise<boolean> {
	const row = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("inbound_calls")
				.select(["kind", "http_status"])
				.where("programme_id", "=", programmeId)
				.orderBy("id", "desc")
				.limit(NEWEST_ROWS)
				.as("newest"),
		)
		.select("newest.kind")
		.where("newest.kind", "=", "api")
		.where("newest.http_status", "<", 300)
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}

/** One that counts: confirmed by the shop's server, or of a programme that does not park them. */
async function hasPixel(db: Db, programmeId: number): Promise<boolean> {
	const row = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("conversions")
				.select(["source", "status"])
				.where("programme_id", "=", programmeId)
				.orderBy("id", "desc")
				.limit(NEWEST_ROWS)
				.as("newest"),
		)
		.select("newest.source")
		.where("newest.source", "=", "pixel")
		.where("newest.status", "not in", ["PARKED", "EXPIRED"])
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}

async function hasCallback(db: Db, programmeId: number): Promise<boolean> {
	const row = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("deliveries")
				.select("state")
				.where("programme_id", "=", programmeId)
				.orderBy("id", "desc")
				.limit(NEWEST_ROWS)
				.as("newest"),
		)
		.select("newest.state")
		.where("newest.state", "=", "delivered")
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}
