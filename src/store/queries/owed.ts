// What is still to be sent: for whoever restores a database or releases callbacks that were held.

import { sql } from "kysely";
import type { EventName } from "../../domain/event-name.ts";
import type { Db } from "../store.ts";

export interface OwedProgramme {
	publicId: string;
	name: string;
	/** Where its callbacks go; null while there is no Postback URL. */
	url: string | null;
	/** Deliveries that wait or are on their way, those of a removed Postback URL left out. */
	waiting: number;
	/** Of a removed Postback URL: they are cancelled, and not sent. */
	toCancel: number;
	/** When the oldest of them was made. */
	oldestAtMs: number;
	/** When the next attempt is due. */
	nextDueAtMs: number;
}

export interface OwedDelivery {
	publicId: string;
	programmeName: string;
	orderId: string;
	event: EventName;
	dueAtMs: number;
	/** The number of the last attempt. */
	attempts: number;
}

/** Those with the most first. One row a programme that is owed something: thousands at most. */
export async function listOwed(db: Db): Promise<OwedProgramme[]> {
	// Numbers follow the time of making: the first is of the oldest.
	const { rows } = await sql<OwedProgramme>`
		select p.public_id as "publicId", p.name, e.url, q.waiting, q.to_cancel as "toCancel",
			coalesce(d.created_at_ms, q.next_due) as "oldestAtMs", q.next_due as "nextDueAtMs"
		from (
			select queue.receiver_id, min(queue.id) as first_id, min(queue.due_at_ms) as next_due,
				count(case when queue.endpoint_epoch >= programmes.endpoint_epoch then 1 end) as waiting,
				count(case when queue.endpoint_epoch < programmes.endpoint_epoch then 1 end) as to_cancel
			from queue join programmes on programmes.id = queue.receiver_id group by queue.receiver_id
		) q
		join programmes p on p.id = q.receiver_id
		left join deliveries d on d.id = q.first_id
		left join endpoints e on e.id = p.endpoint_id
		order by q.waiting desc, p.id`.execute(db);
	return rows;
}

/** Those that would go first, over all programmes. */
export async function listNextOwed(db: Db, limit: number): Promise<OwedDelivery[]> {
	const { rows } = await sql<OwedDelivery>`
		select d.public_id as "publicId", p.name as "programmeName", c.order_id as "orderId", e.name as event,
			q.due_at_ms as "dueAtMs", q.seq as attempts
		from queue q join deliveries d on d.id = q.id join events e on e.id = q.id
			join conversions c on c.id = e.conversion_id join programmes p on p.id = q.receiver_id
		where q.endpoint_epoch >= p.endpoint_epoch order by q.due_at_ms, q.id limit ${limit}`.execute(db);
	return rows;
}

/** Recorded conversions that are approved as soon as a worker runs. */
export async function countEndedWindows(db: Db, nowMs: number): Promise<number> {
	const { count } = await db
		.selectFrom("conversions")
		.select((eb) => eb.fn.countAll<number>().as("count"))
		.where("status", "=", "RECORDED")
		.where("window_ends_at_ms", "<=", nowMs)
		.executeTakeFirstOrThrow();
	return Number(count);
}
