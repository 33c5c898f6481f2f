// Notices as pages and mails show them, with the delivery that failed last. What is only watched is nobody's to see,
// but for the health of the present.

import { sql } from "kysely";
import type { EventName } from "../domain/event-name.ts";
import { type ListPage, type PageRequest, readNewestFirst } from "./list-page.ts";
import type { Notice } from "./notices.ts";
import type { Db } from "./store.ts";

export interface ShownNotice extends Notice {
	/** Of the delivery whose attempt failed last: null where there was none, or it is past its retention. */
	lastDeliveryPublicId: string | null;
	lastEvent: EventName | null;
	lastOrderId: string | null;
}

export function selectNotices(db: Db) {
	return db
		.selectFrom("notices")
		.leftJoin("deliveries", "deliveries.id", "notices.last_delivery_id")
		.leftJoin("events", "events.id", "deliveries.id")
		.leftJoin("conversions", "conversions.id", "events.conversion_id")
		.selectAll("notices")
		.select([
			"deliveries.public_id as lastDeliveryPublicId",
			"events.name as lastEvent",
			"conversions.order_id as lastOrderId",
		]);
}

/** The newest first. */
export async function listNotices(
	db: Db,
	programmeId: number,
	page: PageRequest,
): Promise<ListPage<ShownNotice>> {
	return readNewestFirst(page, (beforeId, limit) =>
		selectNotices(db)
			.where("notices.receiver_id", "=", programmeId)
			.where("notices.told_at_ms", "is not", null)
			.where("notices.id", "<", beforeId)
			.orderBy("notices.id", "desc")
			.limit(limit)
			.execute(),
	);
}

/** One at most: see the index notices_open. Watched ones, too. */
export async function findOpenNotice(db: Db, programmeId: number): Promise<ShownNotice | undefined> {
	return (
		selectNotices(db)
			.where("notices.receiver_id", "=", programmeId)
			// As a literal: only then do both databases use the partial index.
			.where("notices.kind", "=", sql.lit("callbacks_failing"))
			.where("notices.ended_at_ms", "is", null)
			.executeTakeFirst()
	);
}
