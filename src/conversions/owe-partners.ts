// Decides which partners are told of moves, and composes their events. A partner hears of the sales that are credited to it
// while it has an endpoint, once the shop's server has reported them. If a sale is credited to another partner, the
// former one hears that it was reversed, and the new one hears of its present status. Reversed is the last that a partner
// hears of a sale, also if the sale comes back to it, because each event of a sale is sent to a receiver only once.

import { type Move, partnerEventOf } from "../domain/conversion.ts";
import type { Credit } from "../domain/credit.ts";
import type { EventName } from "../domain/event-name.ts";
import { composePartnerEvent, type PartnerEventSubject, REASSIGNED } from "../domain/partner-event.ts";
import { isChosen, type ReceiverId } from "../domain/receiver.ts";
import type { Conversion, NewConversion } from "../store/queries/conversions.ts";
import type { PartnerCredit } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { InTransaction } from "./deps.ts";

/** A move that was made, as far as it concerns partners. */
export interface CreditedMove {
	move: Move;
	/** The conversion before the move, or null if the move started it. */
	before: Conversion | null;
	/** The conversion after the move. */
	conversion: Conversion;
	/** The credit that the move stored, or undefined if it stored none. */
	credit: Credit | undefined;
}

/** An event for a partner that is to be stored and sent. */
export interface PartnerNews {
	receiverId: ReceiverId;
	event: EventName;
	conversionId: number;
	body: string;
}

/** Credits of partners with an endpoint, by the id of the conversion. */
type PartnerCredits = ReadonlyMap<number, PartnerCredit>;

/** Reads the partners whose sales these moves credit to somebody else. It must run before the credits are replaced. */
export function readFormerPartners(
	trx: Db,
	deps: InTransaction,
	moves: readonly CreditedMove[],
): Promise<PartnerCredits> {
	return readCredits(
		trx,
		deps,
		moves.filter(({ move }) => move === "credit"),
	);
}

/** Returns the events for partners. It must run after the credits of the moves were stored. */
export async function findPartnerNews(
	trx: Db,
	deps: InTransaction,
	moves: readonly CreditedMove[],
	former: PartnerCredits,
): Promise<PartnerNews[]> {
	const present = await readCredits(trx, deps, moves.filter(mayConcernPartner));
	return moves.flatMap((made) => {
		const { id } = made.conversion;
		return [
			...newsOfReassignment(made, former.get(id), present.get(id)),
			...newsOfMove(made, present.get(id)),
		];
	});
}

async function readCredits(
	trx: Db,
	deps: InTransaction,
	moves: readonly CreditedMove[],
): Promise<PartnerCredits> {
	const ids = moves.map(({ conversion }) => conversion.id);
	const credits = await deps.store.queue.readPartnerCredits(trx, ids);
	return new Map(credits.map((credit) => [credit.conversionId, credit]));
}

/**
 * Returns whether a partner may be credited with the conversion after the move. A report contains the credit, so sales
 * without a partner need no query. A decision leaves the credit as it is, so the credit must be read.
 */
function mayConcernPartner({ move, conversion, credit }: CreditedMove): boolean {
	if (partnerEventOf(move, conversion.status) === null) return false;
	const isReport = move === "record" || move === "confirm";
	return isReport || credit !== undefined ? (credit?.partnershipId ?? null) !== null : true;
}

/** Returns the event for the former partner, if it was told of the sale and not yet that it was reversed. */
function newsOfReassignment(
	{ before }: CreditedMove,
	former: PartnerCredit | undefined,
	present: PartnerCredit | undefined,
): PartnerNews[] {
	if (former === undefined || before === null || former.receiverId === present?.receiverId) return [];
	if (former.toldEvents === "") return [];
	// The former partner gets the amounts that it knows, which are those before the move.
	return newsFor(former, "conversion.reversed", before, REASSIGNED);
}

function newsOfMove({ move, conversion }: CreditedMove, present: PartnerCredit | undefined): PartnerNews[] {
	const event = partnerEventOf(move, conversion.status);
	if (event === null || present === undefined) return [];
	return newsFor(present, event, conversion, conversion.reason);
}

function newsFor(
	credit: PartnerCredit,
	event: EventName,
	conversion: Conversion,
	reason: PartnerEventSubject["reason"],
): PartnerNews[] {
	const told = credit.toldEvents.split(" ");
	const isOver = told.includes("conversion.reversed") || told.includes(event);
	if (isOver || !isChosen(credit, { name: event, isTest: conversion.test === 1 })) return [];
	const subject = {
		...partnerSubjectOf(conversion, credit.programmePublicId, credit.showsBaskets === 1),
		partnerId: credit.partnerPublicId,
		linkId: credit.linkCode,
		creditedBy: credit.creditWord,
		clickedAtMs: credit.clickedAtMs,
		subIds: [credit.sub1, credit.sub2, credit.sub3] as const,
		reason,
	};
	return [
		{ receiverId: credit.receiverId, event, conversionId: conversion.id, body: composePartnerEvent(subject) },
	];
}

/** Returns the part of an event for a partner that comes from the conversion. */
export function partnerSubjectOf(conversion: NewConversion, programId: string, showsBaskets: boolean) {
	return {
		conversionId: conversion.public_id,
		programId,
		eventType: conversion.event_type,
		basketValue: showsBaskets ? conversion.basket_value : null,
		commission: conversion.commission,
		currency: conversion.currency,
		test: conversion.test === 1,
		occurredAtMs: conversion.occurred_at_ms,
	};
}
