// Receivers of callbacks and their Postback URLs.

import type { Selectable } from "kysely";
import { ALL_EVENTS, type CallbackForm, type ReceiverId } from "../../domain/receiver.ts";
import { type Locked, lockRow } from "../locked.ts";
import type { Db } from "../store.ts";
import type { EndpointsTable } from "../tables/receivers.ts";
import { endTroubles } from "./notices.ts";

/** The part of a receiver that is read together with its programme or partner. */
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

/** Adds the receiver of a partner, in the transaction that saves its first endpoint and holds the partner's lock. */
export async function insertPartnerReceiver(trx: Db, partnerId: number): Promise<void> {
	await trx.insertInto("receivers").values({ kind: "partner", partner_id: partnerId }).execute();
}

/** Returns the receiver of a partner, or undefined if the partner never had an endpoint. */
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

/** A URL that is saved, with the form of its callbacks and the chosen events. */
export type Endpoint = Pick<Selectable<EndpointsTable>, "url" | "events"> & { form: CallbackForm };

/** Saves an endpoint without a URL. The receiver's events are recorded for `ringback listen`, and not sent. */
export async function setListenOnly(
	trx: Db,
	receiver: Locked<ReceiverColumns>,
	nowMs: number,
): Promise<void> {
	await setEndpoint(trx, receiver, { url: "", form: "listen", events: ALL_EVENTS }, nowMs);
	// A request in flight may have left a notice open when the URL was removed. Nothing is sent now, so no success could
	// end it.
	await endTroubles(trx, [receiver.receiver_id], "removal", nowMs);
}

/** Saves the Postback URL, or an endpoint without one. */
export async function setEndpoint(
	trx: Db,
	{ receiver_id, endpoint_epoch }: Locked<ReceiverColumns>,
	endpoint: Pick<Selectable<EndpointsTable>, "url" | "form" | "events">,
	nowMs: number,
): Promise<void> {
	// An engine cancels what is owed to an endpoint without a URL. With a new epoch, an engine that has not read the new
	// URL yet leaves its callbacks alone.
	const wasListenOnly = await isListenOnly(trx, receiver_id);
	const { id } = await trx
		.insertInto("endpoints")
		.values({ receiver_id, ...endpoint, saved_at_ms: nowMs })
		.returning("id")
		.executeTakeFirstOrThrow();
	await trx
		.updateTable("receivers")
		.set({ endpoint_id: id, endpoint_epoch: endpoint_epoch + (wasListenOnly ? 1 : 0) })
		.where("id", "=", receiver_id)
		.execute();
}

/** Returns whether the receiver's events are recorded for `ringback listen` and sent nowhere. */
export async function isListenOnly(db: Db, receiverId: ReceiverId): Promise<boolean> {
	return (await findEndpoint(db, receiverId))?.form === "listen";
}

function findEndpoint(db: Db, receiverId: ReceiverId) {
	return db
		.selectFrom("receivers")
		.innerJoin("endpoints", "endpoints.id", "receivers.endpoint_id")
		.select(["endpoints.url", "endpoints.form", "endpoints.events"])
		.where("receivers.id", "=", receiverId)
		.executeTakeFirst();
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
	return (await presentEndpoint(db, receiverId))?.url;
}

/** Returns the URL that is saved now with its choices, or undefined if there is none. */
export async function presentEndpoint(db: Db, receiverId: ReceiverId): Promise<Endpoint | undefined> {
	const endpoint = await findEndpoint(db, receiverId);
	if (endpoint === undefined || endpoint.form === "listen") return undefined;
	return { ...endpoint, form: endpoint.form };
}

/** Lists all Postback URLs that were ever saved, the newest first. */
export async function listUrls(db: Db, receiverId: ReceiverId, limit: number): Promise<string[]> {
	const rows = await db
		.selectFrom("endpoints")
		.select("url")
		.where("receiver_id", "=", receiverId)
		.where("form", "<>", "listen")
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
