// The test conversions of a programme, as the integration page walks them through every status.

import type { Conversion } from "./conversions.ts";
import type { Db } from "./store.ts";

/** A programme with more real sales than this since its last test has forgotten about it. */
const NEWEST_ROWS = 1_000;

export async function findNewestTest(db: Db, programmeId: number): Promise<Conversion | undefined> {
	const newest = await db
		.selectFrom((eb) =>
			eb
				.selectFrom("conversions")
				.select(["id", "source"])
				.where("programme_id", "=", programmeId)
				.orderBy("id", "desc")
				.limit(NEWEST_ROWS)
				.as("newest"),
		)
		.select("newest.id")
		.where("newest.source", "=", "test")
		.orderBy("newest.id", "desc")
		.limit(1)
		.executeTakeFirst();
	if (newest === undefined) return undefined;
	return db.selectFrom("conversions").selectAll().where("id", "=", newest.id).executeTakeFirst();
}
