// Notices as their page shows them, with the delivery that failed last.

import { sql } from "kysely";
import { type ListPage, type PageRequest, readNewestFirst } from "./list-page.ts";
import type { Notice } from "./notices.ts";
import type { Db } from "./store.ts";

export interface ListedNotice extends Notice {
	/** Null where there was none, or it is past its retention. */
	lastDeliveryPublicId: string | null;
}

/** The newest first. */
export async function listNotices(
	db: Db,
	programmeId: number,
	page: PageRequest,
): Promise<ListPage<ListedNotice>> {
	return readNewestFirst(page, (beforeId, limit) =>
		db
			.selectFrom("notices")
			.leftJoin("deliveries", "deliveries.id", "notices.last_delivery_id")
			.selectAll("notices")
			.select("deliveries.public_id as lastDeliveryPublicId")
			.where("notices.receiver_id", "=", programmeId)
			.where("notices.id", "<", beforeId)
			.orderBy("notices.id", "desc")
			.limit(limit)
			.execute(),
	);
}

/** One at most: see the index notices_open. */
export async function findOpenNotice(db: Db, programmeId: number): Promise<Notice | undefined> {
	return (
		db
			.selectFrom("notices")
			.selectAll()
			.where("receiver_id", "=", programmeId)
			// As a literal: only then do both databases use the partial index.
			.where("kind", "=", sql.lit("callbacks_failing"))
			.where("ended_at_ms", "is", null)
			.executeTakeFirst()
	);
}
