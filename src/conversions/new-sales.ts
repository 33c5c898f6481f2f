// Prepares sales that are expected to be the first reports of their orders. Their rows are composed before the database
// is asked, so that one statement can store them together with their events (store/new-sales.ts).

import { announcedBy } from "../domain/conversion.ts";
import type { Credit } from "../domain/credit.ts";
import { composeEvent } from "../domain/event.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { startPartnerEvent } from "../domain/partner-event.ts";
import { type NewSale, NO_CREDIT, type SaleCredit, type StoredNewSales } from "../store/new-sales.ts";
import type { NewConversion } from "../store/queries/conversions.ts";
import { type KnownPartnerships, rowOfCredit, type Signals } from "../store/queries/credits.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { type DueDelivery, NOTHING_OWED, type Owed } from "../store/queries/queue.ts";
import type { Decided, InTransaction } from "./deps.ts";
import { composeNewConversion } from "./make-moves.ts";
import { subjectOf } from "./owe.ts";
import { partnerSubjectOf } from "./owe-partners.ts";
import type { RecordOutcome, ReportRequest } from "./record.ts";

export interface PreparedSale {
	sale: NewSale;
	/** The outcome that the caller gets if the sale turns out to be new. */
	decided: Decided<RecordOutcome, NewConversion>;
}

/** Composes the rows of a sale. The event is composed even if nobody will receive it. */
export function prepareNewSale(
	{ clock, random }: InTransaction,
	programme: Programme,
	request: ReportRequest,
	partnerships: KnownPartnerships,
	signals: Signals | undefined,
): PreparedSale {
	const first = request.judgeAsFirst({ partnerships, clicks: partnerships.clicksOf(signals) });
	const nowMs = clock.nowMs();
	const { step, describe } = first;
	const conversion = composeNewConversion(step, nowMs);
	const name = announcedBy(step.move);
	const event =
		name === null
			? { delivery_public_id: null, event_name: null, event_body: null }
			: {
					delivery_public_id: makeId("dlv", nowMs, random.bytes(ID_RANDOM_BYTES)),
					event_name: name,
					event_body: composeEvent(subjectOf(conversion, programme.public_id)),
				};
	const partnerEvent =
		name === null || step.credit === undefined || step.credit.partnershipId === null
			? { partner_delivery_public_id: null, partner_event_start: null }
			: {
					partner_delivery_public_id: makeId("dlv", nowMs, random.bytes(ID_RANDOM_BYTES)),
					partner_event_start: composeStart(programme, conversion, step.credit),
				};
	return {
		sale: { ...conversion, move: step.move, ...event, ...partnerEvent, ...creditColumns(step.credit) },
		decided: describe(conversion),
	};
}

function composeStart(programme: Programme, conversion: NewConversion, credit: Credit): string {
	return startPartnerEvent({
		...partnerSubjectOf(conversion, programme.public_id, programme.shows_baskets === 1),
		creditedBy: credit.word,
		clickedAtMs: credit.clickedAtMs,
		subIds: credit.subIds,
		reason: conversion.reason,
	});
}

function creditColumns(credit: Credit | undefined): SaleCredit {
	if (credit === undefined) return NO_CREDIT;
	const { partnership_id, word, link_id, clicked_at_ms, sub_1, sub_2, sub_3 } = rowOfCredit(credit);
	return {
		credit_partnership_id: partnership_id,
		credit_word: word,
		credit_link_id: link_id,
		credit_clicked_at_ms: clicked_at_ms,
		credit_sub_1: sub_1,
		credit_sub_2: sub_2,
		credit_sub_3: sub_3,
	};
}

/**
 * Returns the deliveries that became due, to be announced to the engines. `readAtMs` is the monotonic time before the
 * statement ran.
 */
export function owedByNewSales(
	sales: readonly NewSale[],
	{ events, targets }: Extract<StoredNewSales, { kind: "stored" }>,
	readAtMs: number,
): Owed {
	const deliveries: DueDelivery[] = [];
	for (const sale of sales) {
		for (const publicId of [sale.delivery_public_id, sale.partner_delivery_public_id]) {
			const event = events.get(publicId ?? "");
			const eventBody = event?.body ?? sale.event_body;
			if (event === undefined || sale.event_name === null || eventBody === null) continue;
			deliveries.push({
				id: event.id,
				receiverId: event.receiverId,
				dueAtMs: sale.created_at_ms,
				run: 1,
				counted: 0,
				seq: 0,
				endpointEpoch: event.endpointEpoch,
				eventName: sale.event_name,
				eventBody,
			});
		}
	}
	if (deliveries.length === 0) return NOTHING_OWED;
	return {
		receiverIds: [...new Set(deliveries.map(({ receiverId }) => receiverId))],
		dueAtMs: Math.min(...deliveries.map(({ dueAtMs }) => dueAtMs)),
		ready: { deliveries, targets, readAtMs },
	};
}
