// Partnerships that may be credited, with the callback targets of their partners. Both databases read them in the same way.

import type { CreditablePartnership, PartnerTarget } from "../batch.ts";
import { TARGET_COLUMNS, TARGET_JOINS } from "./queue.ts";

/** Selects the columns of PartnershipRow. Each database adds its own condition on `own.id`. */
export const PARTNERSHIP_SELECT: string = `select own.id, own.partner_id, own.commission_rate, own.event_rates,
	own.created_at_ms, own.ended_at_ms, own.clicks_ended_at_ms, partner.public_id as "partnerPublicId",
	programme.public_id as "programmePublicId", programme.shows_baskets as "showsBaskets",
	e.events as "chosenEvents", ${TARGET_COLUMNS}
	from partnerships own join partners partner on partner.id = own.partner_id
	join programmes programme on programme.id = own.programme_id
	left join receivers r on r.partner_id = own.partner_id ${TARGET_JOINS}`;

type TargetColumns = { [Column in keyof PartnerTarget]: PartnerTarget[Column] | null };

/** A creditable partnership with the columns of its target. */
export interface PartnershipRow extends Omit<CreditablePartnership, "target">, TargetColumns {}

export function readPartnershipRow(row: PartnershipRow): CreditablePartnership {
	const {
		receiverId,
		kind,
		endpointId,
		endpointEpoch,
		url,
		form,
		secretId,
		sealedSecret,
		isFailing,
		chosenEvents,
		...own
	} = row;
	const isComplete =
		receiverId !== null &&
		kind !== null &&
		endpointEpoch !== null &&
		url !== null &&
		form !== null &&
		chosenEvents !== null;
	if (!isComplete || secretId === null) return { ...own, target: null };
	const target = {
		receiverId,
		kind,
		endpointId,
		endpointEpoch,
		url,
		form,
		secretId,
		sealedSecret,
		chosenEvents,
	};
	return { ...own, target: { ...target, isFailing: Boolean(isFailing) } };
}
