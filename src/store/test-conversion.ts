// The test conversions of a programme, as the integration page walks them through every status.

import { sql } from "kysely";
import type { Conversion } from "./conversions.ts";
import type { Db } from "./store.ts";

/** Along conversions_tests, whose condition has to be said in its own words. */
export async function findNewestTest(db: Db, programmeId: number): Promise<Conversion | undefined> {
	return db
		.selectFrom("conversions")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("source", "=", sql.lit("test"))
		.orderBy("id", "desc")
		.limit(1)
		.executeTakeFirst();
}
