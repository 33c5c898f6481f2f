import type { Selectable } from "kysely";
import type { ReceiverId } from "../../domain/receiver.ts";
import { type Locked, lockRow } from "../locked.ts";
import type { Db } from "../store.ts";
import type { EndpointsTable } from "../tables/receivers.ts";
import { endTroubles } from "./notices.ts";

/** Columns of a receiver that are read together with its programme or partner. */
export interface ReceiverColumns {
	receiver_id: ReceiverId;
	endpoint_id: number | null;
	/** Number that rises when the URL is removed. Pending deliveries with an older epoch are cancelled. */
	endpoint_epoch: number;
}

export const RECEIVER_COLUMNS = [
	"receivers.id as receiver_id",
	"receivers.endpoint_id",
	"receivers.endpoint_epoch",
] as const;

export async function insertShopReceiver(trx: Db, programmeId: number): Promise<ReceiverColumns> {
	return trx
		.insertInto("receivers")
		.values({ kind: "shop", programme_id: programmeId })
		.returning(["id as receiver_id", "endpoint_id", "endpoint_epoch"])
		.executeTakeFirstOrThrow();
}

/**
 * Adds the receiver of a partner, in the transaction that saves its first callback URL and holds the partner's lock.
 */
export async function insertPartnerReceiver(trx: Db, partnerId: number): Promise<void> {
	await trx.insertInto("receivers").values({ kind: "partner", partner_id: partnerId }).execute();
}

/** Returns the receiver of a partner, or undefined if the partner never had a callback URL. */
export async function findPartnerReceiver(db: Db, partnerId: number): Promise<ReceiverColumns | undefined> {
	return db
		.selectFrom("receivers")
		.select(RECEIVER_COLUMNS)
		.where("receivers.partner_id", "=", partnerId)
		.executeTakeFirst();
}

export function lockPartnerReceiver(
	trx: Db,
	partnerId: number,
): Promise<Locked<ReceiverColumns> | undefined> {
	return lockRow(
		trx,
		trx.selectFrom("receivers").select(RECEIVER_COLUMNS).where("receivers.partner_id", "=", partnerId),
	);
}

/** Saved callback URL, with the form of its callbacks and the chosen events. */
export type Endpoint = Pick<Selectable<EndpointsTable>, "url" | "form" | "events">;

export async function setEndpoint(
	trx: Db,
	{ receiver_id }: Locked<ReceiverColumns>,
	endpoint: Endpoint,
	nowMs: number,
): Promise<void> {
	const { id } = await trx
		.insertInto("endpoints")
		.values({ receiver_id, ...endpoint, saved_at_ms: nowMs })
		.returning("id")
		.executeTakeFirstOrThrow();
	await trx.updateTable("receivers").set({ endpoint_id: id }).where("id", "=", receiver_id).execute();
}

/**
 * Removes the Postback URL. After the commit, no delivery of the old epoch is sent. This includes the event of a
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
	return (await presentEndpoint(db, receiverId))?.url;
}

/** Returns the current URL with its form and events, or undefined if no URL is saved. */
export async function presentEndpoint(db: Db, receiverId: ReceiverId): Promise<Endpoint | undefined> {
	return db
		.selectFrom("receivers")
		.innerJoin("endpoints", "endpoints.id", "receivers.endpoint_id")
		.select(["endpoints.url", "endpoints.form", "endpoints.events"])
		.where("receivers.id", "=", receiverId)
		.executeTakeFirst();
}

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

/**
 * Stores the time of the first successful callback of each receiver, in the transaction that stores the callback's
 * result.
 */
export async function storeFirstCallback(
	trx: Db,
	receiverIds: readonly ReceiverId[],
	nowMs: number,
): Promise<void> {
	if (receiverIds.length === 0) return;
	const first = trx.updateTable("receivers").set({ first_callback_at_ms: nowMs });
	await first.where("id", "in", receiverIds).where("first_callback_at_ms", "is", null).execute();
}
