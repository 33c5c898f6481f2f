// Callbacks that are still to be sent, for people who restore a database or release held callbacks.

import { sql } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import type { Db } from "../store.ts";

export interface OwedReceiver {
	publicId: string;
	name: string;
	url: string | null;
	/** Number of pending deliveries. Deliveries of a removed Postback URL are not included. */
	waiting: number;
	/** Number of deliveries of a removed Postback URL, which are cancelled instead of sent. */
	toCancel: number;
	oldestAtMs: number;
	nextDueAtMs: number;
}

export interface OwedDelivery {
	publicId: string;
	receiverName: string;
	/** Order of the conversion, or null for a test callback to a partner. */
	orderId: string | null;
	event: EventName;
	dueAtMs: number;
	attempts: number;
}

/**
 * Returns one row for each receiver with pending deliveries, the one with the most deliveries first. There are at most
 * some thousands of rows.
 */
export async function listOwed(db: Db): Promise<OwedReceiver[]> {
	// Ids rise with the time of creation, so the lowest id belongs to the oldest delivery.
	const { rows } = await sql<OwedReceiver>`
		select coalesce(p.public_id, n.public_id) as "publicId", coalesce(p.name, n.name) as name, e.url, q.waiting, q.to_cancel as "toCancel",
			coalesce(first.created_at_ms, q.next_due) as "oldestAtMs", q.next_due as "nextDueAtMs"
		from (
			select queue.receiver_id, min(queue.id) as first_id, min(queue.due_at_ms) as next_due,
				count(case when queue.endpoint_epoch >= receivers.endpoint_epoch then 1 end) as waiting,
				count(case when queue.endpoint_epoch < receivers.endpoint_epoch then 1 end) as to_cancel
			from queue join receivers on receivers.id = queue.receiver_id group by queue.receiver_id
		) q
		join receivers r on r.id = q.receiver_id
		left join programmes p on p.id = r.programme_id
		left join partners n on n.id = r.partner_id
		left join events first on first.id = q.first_id
		left join endpoints e on e.id = r.endpoint_id
		order by q.waiting desc, r.id`.execute(db);
	return rows;
}

/** Returns the deliveries of all receivers that would be sent first. */
export async function listNextOwed(db: Db, limit: number): Promise<OwedDelivery[]> {
	const { rows } = await sql<OwedDelivery>`
		select e.public_id as "publicId", coalesce(p.name, n.name) as "receiverName", c.order_id as "orderId", e.name as event,
			q.due_at_ms as "dueAtMs", q.seq as attempts
		from queue q join events e on e.id = q.id
			left join conversions c on c.id = e.conversion_id join receivers r on r.id = q.receiver_id
			left join programmes p on p.id = r.programme_id left join partners n on n.id = r.partner_id
		where q.endpoint_epoch >= r.endpoint_epoch order by q.due_at_ms, q.id limit ${limit}`.execute(db);
	return rows;
}

/** Counts recorded conversions whose approval window has ended. They are approved as soon as a worker runs. */
export async function countEndedWindows(db: Db, nowMs: number): Promise<number> {
	const { count } = await db
		.selectFrom("conversions")
		.select((eb) => eb.fn.countAll<number>().as("count"))
		.where("status", "=", "RECORDED")
		.where("window_ends_at_ms", "<=", nowMs)
		.executeTakeFirstOrThrow();
	return Number(count);
}
