// Stores the events of status changes, with their deliveries, in the transaction that makes the changes. If a programme
// has no Postback URL or no signing secret at that moment, the event is never sent (contract section 1, rules 4 and 5).

import { composeEvent, type EventSubject } from "../domain/event.ts";
import type { EventName } from "../domain/event-name.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import type { EventColumn } from "../store/queries/announced-moves.ts";
import { type Conversion, orderIdOf } from "../store/queries/conversions.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { InTransaction } from "./deps.ts";

export interface Announcement {
	event: EventName;
	/** The conversion after the move that is announced. */
	conversion: Conversion;
}

/**
 * Stores at most one event for each conversion. Resolves to the deliveries that are due, which the caller announces
 * after the commit.
 */
export async function oweEvents(
	trx: Db,
	{ store, clock, random }: InTransaction,
	announcements: readonly Announcement[],
): Promise<Owed> {
	const readAtMs = clock.monotonicMs();
	const programmeIds = [...new Set(announcements.map(({ conversion }) => conversion.programme_id))];
	const read = await store.queue.readShopTargets(trx, programmeIds);
	const targets = read.filter(({ endpointId, secretId }) => endpointId !== null && secretId !== null);
	const targetOf = new Map(targets.map((target) => [target.programmeId, target]));
	const nowMs = clock.nowMs();
	const owed = announcements.flatMap(({ event, conversion }) => {
		const target = targetOf.get(conversion.programme_id);
		if (target === undefined) return [];
		return {
			conversionId: conversion.id,
			receiverId: target.receiverId,
			endpointEpoch: target.endpointEpoch,
			deliveryPublicId: makeId("dlv", nowMs, random.bytes(ID_RANDOM_BYTES)),
			name: event,
			body: composeEvent(subjectOf(conversion, target.publicId)),
		};
	});
	const ids = await store.writes.insertOwedEvents(trx, owed, nowMs);
	const deliveries = owed.map(({ conversionId, receiverId, endpointEpoch, name, body }) => {
		const id = ids.get(conversionId);
		if (id === undefined) throw new Error("an owed event was not stored");
		const first = { run: 1, counted: 0, seq: 0 };
		return { id, receiverId, dueAtMs: nowMs, ...first, endpointEpoch, eventName: name, eventBody: body };
	});
	return {
		receiverIds: targets.map(({ receiverId }) => receiverId),
		dueAtMs: nowMs,
		ready: { deliveries, targets, readAtMs },
	};
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
