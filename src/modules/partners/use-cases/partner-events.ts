// Decides which partners are told of a move, and composes their events. If a sale is credited to another
// partner, the former partner is told that it was reversed, and the new partner is told its present status.
// Reversed is the last event of a sale for a partner, because a receiver gets each event of a sale only once.

import type { MadeMove } from "#core/conversions/change-module.ts";
import { partnerEventOf } from "#core/domain/conversion.ts";
import type { EventName } from "#core/domain/event-name.ts";
import { composePartnerEvent, type PartnerEventSubject, REASSIGNED } from "#core/domain/partner-event.ts";
import { isChosen } from "#core/domain/receiver.ts";
import type { Conversion } from "#core/store/tables/conversions.ts";
import type { Credit } from "../domain/credit.ts";
import type { CreditablePartnership, PartnerTarget } from "../store/creditable-partnerships.ts";

export interface PartnerEvent {
	target: PartnerTarget;
	name: EventName;
	body: string;
}

/** Returns the events for partners. `made.known` must have the credit after the move. */
export function partnerEventsOf(made: MadeMove): PartnerEvent[] {
	return [...eventsOfReassignment(made), ...eventsOfMove(made)];
}

/** Returns the event for the former partner, if it was told of the sale and not yet that it was reversed. */
function eventsOfReassignment(made: MadeMove): PartnerEvent[] {
	const { move, before, knownBefore, known } = made;
	const { credit, credited } = knownBefore;
	const target = credited?.target;
	if (move !== "credit" || before === null || credit === undefined) return [];
	if (!target || credited?.id === known.credited?.id) return [];
	if (!known.told.some(({ receiver_id }) => receiver_id === target.receiverId)) return [];
	// The former partner gets the amounts that it knows, which are those before the move.
	return eventFor(made, credited, credit, "conversion.reversed", before, REASSIGNED);
}

function eventsOfMove(made: MadeMove): PartnerEvent[] {
	const { move, after, known } = made;
	const event = partnerEventOf(move, after.status);
	if (event === null || known.credit === undefined) return [];
	return eventFor(made, known.credited, known.credit, event, after, after.reason);
}

function eventFor(
	{ known: { told }, facts: { linkCodes } }: MadeMove,
	partnership: CreditablePartnership | undefined,
	credit: Credit,
	name: EventName,
	conversion: Conversion,
	reason: PartnerEventSubject["reason"],
): PartnerEvent[] {
	if (!partnership?.target) return [];
	const { target } = partnership;
	const heard = told
		.filter(({ receiver_id }) => receiver_id === target.receiverId)
		.map((event) => event.name);
	const isOver = heard.includes("conversion.reversed") || heard.includes(name);
	if (isOver || !isChosen(target, { name, isTest: conversion.test === 1 })) return [];
	const body = composePartnerEvent({
		conversionId: conversion.public_id,
		programId: partnership.programmePublicId,
		partnerId: partnership.partnerPublicId,
		linkId: linkCodes.get(credit.linkId ?? 0) ?? null,
		eventType: conversion.event_type,
		basketValue: partnership.showsBaskets === 1 ? conversion.basket_value : null,
		commission: conversion.commission,
		currency: conversion.currency,
		reason,
		creditedBy: credit.word,
		subIds: credit.subIds,
		test: conversion.test === 1,
		clickedAtMs: credit.clickedAtMs,
		occurredAtMs: conversion.occurred_at_ms,
	});
	return [{ target, name, body }];
}
