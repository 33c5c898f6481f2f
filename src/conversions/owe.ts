// Stores the events of status changes, with their deliveries, in the transaction that makes the changes. If a receiver
// has no URL or no signing secret at that moment, the event is never sent (contract section 1, rules 4 and 5).

import { composeEvent, type EventSubject } from "../domain/event.ts";
import type { EventName } from "../domain/event-name.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import type { OwedEvent } from "../store/hot-writes.ts";
import type { EventColumn } from "../store/queries/announced-moves.ts";
import { type Conversion, orderIdOf } from "../store/queries/conversions.ts";
import type { CallbackTarget, DueDelivery, Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { InTransaction } from "./deps.ts";
import type { PartnerNews } from "./owe-partners.ts";

export interface Announcement {
	event: EventName;
	/** The conversion after the move that is announced. */
	conversion: Conversion;
}

/**
 * Stores the events of shops and of partners, at most one for each conversion and receiver. Resolves to the deliveries
 * that are due, which the caller announces after the commit.
 */
export async function oweEvents(
	trx: Db,
	{ store, clock, random }: InTransaction,
	announcements: readonly Announcement[],
	partnerNews: readonly PartnerNews[],
	/** Time of the moves. Streams for partners find the events of a move by it. */
	nowMs: number,
): Promise<Owed> {
	const readAtMs = clock.monotonicMs();
	const programmeIds = [...new Set(announcements.map(({ conversion }) => conversion.programme_id))];
	const read = await store.queue.readShopTargets(trx, programmeIds);
	const shops = read.filter(isSendable);
	const shopOf = new Map(shops.map((shop) => [shop.programmeId, shop]));
	const shopNews = announcements.flatMap(({ event, conversion }) => {
		const shop = shopOf.get(conversion.programme_id);
		if (shop === undefined) return [];
		const body = composeEvent(subjectOf(conversion, shop.publicId));
		return [{ receiverId: shop.receiverId, event, conversionId: conversion.id, body }];
	});
	const partnerIds = [...new Set(partnerNews.map(({ receiverId }) => receiverId))];
	const partners = (await store.queue.readTargets(trx, partnerIds)).filter(isSendable);
	const targets: readonly CallbackTarget[] = [...shops, ...partners];
	const epochOf = new Map(targets.map(({ receiverId, endpointEpoch }) => [receiverId, endpointEpoch]));
	const owed = [...shopNews, ...partnerNews].flatMap(({ receiverId, event, conversionId, body }) => {
		const endpointEpoch = epochOf.get(receiverId);
		if (endpointEpoch === undefined) return [];
		const deliveryPublicId = makeId("dlv", nowMs, random.bytes(ID_RANDOM_BYTES));
		return [{ conversionId, receiverId, endpointEpoch, deliveryPublicId, name: event, body }];
	});
	const deliveries = await storeOwed(trx, store, owed, nowMs);
	return {
		receiverIds: targets.map(({ receiverId }) => receiverId),
		dueAtMs: nowMs,
		ready: { deliveries, targets, readAtMs },
	};
}

function isSendable({ endpointId, secretId }: CallbackTarget): boolean {
	return endpointId !== null && secretId !== null;
}

/** Stores events, and returns their deliveries, which are due now. */
async function storeOwed(
	trx: Db,
	{ writes }: InTransaction["store"],
	owed: readonly OwedEvent[],
	nowMs: number,
): Promise<DueDelivery[]> {
	const ids = await writes.insertOwedEvents(trx, owed, nowMs);
	return owed.map(({ deliveryPublicId, receiverId, endpointEpoch, name, body }) => {
		const id = ids.get(deliveryPublicId);
		if (id === undefined) throw new Error("an owed event was not stored");
		const first = { run: 1, counted: 0, seq: 0 };
		return { id, receiverId, dueAtMs: nowMs, ...first, endpointEpoch, eventName: name, eventBody: body };
	});
}

/** Combines the due deliveries of two steps of one transaction. */
export function addOwed(a: Owed, b: Owed): Owed {
	if (a.receiverIds.length === 0) return b;
	return {
		receiverIds: [...new Set([...a.receiverIds, ...b.receiverIds])],
		dueAtMs: Math.min(a.dueAtMs, b.dueAtMs),
		ready: {
			deliveries: [...(a.ready?.deliveries ?? []), ...(b.ready?.deliveries ?? [])],
			targets: [...(a.ready?.targets ?? []), ...(b.ready?.targets ?? [])],
			readAtMs: Math.min(a.ready?.readAtMs ?? 0, b.ready?.readAtMs ?? 0),
		},
	};
}

export function subjectOf(
	conversion: Pick<Conversion, EventColumn | "status" | "reason">,
	programId: string,
): EventSubject {
	return {
		conversionId: conversion.public_id,
		orderId: orderIdOf(conversion),
		programId,
		status: conversion.status,
		eventType: conversion.event_type,
		basketValue: conversion.basket_value,
		commission: conversion.commission,
		networkFee: conversion.network_fee,
		currency: conversion.currency,
		reason: conversion.reason,
		test: conversion.test === 1,
		occurredAtMs: conversion.occurred_at_ms,
	};
}
