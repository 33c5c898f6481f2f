// Receivers of callbacks and their Postback URLs.

import type { ReceiverId } from "../../domain/receiver.ts";
import type { Locked } from "../locked.ts";
import type { Db } from "../store.ts";
import { endTroubles } from "./notices.ts";

/** The part of a receiver that is read together with its programme. */
export interface ReceiverColumns {
	receiver_id: ReceiverId;
	/** Id of the current Postback URL, or null if there is none. */
	endpoint_id: number | null;
	/** Number that rises when the URL is removed. Deliveries of an older epoch are cancelled for good. */
	endpoint_epoch: number;
}

export const RECEIVER_COLUMNS = [
	"receivers.id as receiver_id",
	"receivers.endpoint_id",
	"receivers.endpoint_epoch",
] as const;

/** Adds the receiver of a new programme, in the same transaction. */
export async function insertShopReceiver(trx: Db, programmeId: number): Promise<ReceiverColumns> {
	return trx
		.insertInto("receivers")
		.values({ kind: "shop", programme_id: programmeId })
		.returning(["id as receiver_id", "endpoint_id", "endpoint_epoch"])
		.executeTakeFirstOrThrow();
}

/** Saves the Postback URL. */
export async function setEndpoint(
	trx: Db,
	{ receiver_id }: Locked<ReceiverColumns>,
	url: string,
	nowMs: number,
): Promise<void> {
	const { id } = await trx
		.insertInto("endpoints")
		.values({ receiver_id, url, saved_at_ms: nowMs })
		.returning("id")
		.executeTakeFirstOrThrow();
	await trx.updateTable("receivers").set({ endpoint_id: id }).where("id", "=", receiver_id).execute();
}

/**
 * Removes the Postback URL. After the commit no delivery of the old epoch is sent. This includes the event of a
 * transaction that still saw the URL, because the engine cancels deliveries of an older epoch.
 */
export async function removeEndpoint(
	trx: Db,
	{ receiver_id, endpoint_epoch }: Locked<ReceiverColumns>,
	nowMs: number,
): Promise<void> {
	await trx
		.updateTable("receivers")
		.set({ endpoint_id: null, endpoint_epoch: endpoint_epoch + 1 })
		.where("id", "=", receiver_id)
		.execute();
	// Without a URL no callback is sent, so no success could end the notice of failing callbacks.
	await endTroubles(trx, [receiver_id], "removal", nowMs);
}

export async function presentUrl(db: Db, receiverId: ReceiverId): Promise<string | undefined> {
	const row = await db
		.selectFrom("receivers")
		.innerJoin("endpoints", "endpoints.id", "receivers.endpoint_id")
		.select("endpoints.url")
		.where("receivers.id", "=", receiverId)
		.executeTakeFirst();
	return row?.url;
}

/** Lists all Postback URLs that were ever saved, the newest first. */
export async function listUrls(db: Db, receiverId: ReceiverId, limit: number): Promise<string[]> {
	const rows = await db
		.selectFrom("endpoints")
		.select("url")
		.where("receiver_id", "=", receiverId)
		.orderBy("id", "desc")
		.limit(limit)
		.execute();
	return rows.map(({ url }) => url);
}

/** Notes the first successful callback of each receiver, in the transaction that stores its result. */
export async function noteFirstCallback(
	trx: Db,
	receiverIds: readonly ReceiverId[],
	nowMs: number,
): Promise<void> {
	if (receiverIds.length === 0) return;
	const first = trx.updateTable("receivers").set({ first_callback_at_ms: nowMs });
	await first.where("id", "in", receiverIds).where("first_callback_at_ms", "is", null).execute();
}
