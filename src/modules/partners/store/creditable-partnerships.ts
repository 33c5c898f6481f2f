// Partnerships that may be credited, with the callback targets of their partners.

import type { CallbackForm } from "#core/domain/receiver.ts";
import type { BatchStore } from "#core/store/batch.ts";
import { type KeyedRead, keysOf, readById } from "#core/store/module-parts.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { type CallbackTarget, TARGET_COLUMNS, TARGET_JOINS } from "#core/store/queries/queue.ts";
import type { Db } from "#core/store/store.ts";
import type { OpenedClicks } from "../domain/click-token.ts";
import type { CouponCodesTable, Partnership } from "./tables.ts";

/** A partnership that may be credited, with the callback target of its partner. */
export interface CreditablePartnership
	extends Pick<
		Partnership,
		| "id"
		| "partner_id"
		| "commission_rate"
		| "event_rates"
		| "created_at_ms"
		| "ended_at_ms"
		| "clicks_ended_at_ms"
	> {
	partnerPublicId: string;
	programmePublicId: string;
	showsBaskets: 0 | 1;
	/** Endpoint to which the partner's callbacks go, or null if it has no endpoint or no active secret. */
	target: PartnerTarget | null;
}

export interface PartnerTarget extends CallbackTarget {
	url: string;
	form: CallbackForm;
	/** Names of the events that the partner chose, separated by spaces. */
	chosenEvents: string;
}

type NullableColumns = { [Column in keyof PartnerTarget]: PartnerTarget[Column] | null };

/** A row of the query, in which the columns of the callback target may be null. */
interface FoundPartnership extends Omit<CreditablePartnership, "target">, NullableColumns {}

export const PARTNERSHIP = readById<CreditablePartnership>(
	`select own.id, own.partner_id, own.commission_rate, own.event_rates,
		own.created_at_ms, own.ended_at_ms, own.clicks_ended_at_ms, partner.public_id as "partnerPublicId",
		programme.public_id as "programmePublicId", programme.shows_baskets as "showsBaskets",
		e.events as "chosenEvents", ${TARGET_COLUMNS}
		from partnerships own join partners partner on partner.id = own.partner_id
		join programmes programme on programme.id = own.programme_id
		left join receivers r on r.partner_id = own.partner_id ${TARGET_JOINS} where own.id = :id`,
	(found) => {
		const partnership = found as FoundPartnership;
		return { ...partnership, target: targetOf(partnership) };
	},
);

type CodeKey = Pick<CouponCodesTable, "programme_id" | "folded">;

/** Reads the active partnerships to which coupon codes belong. */
export const PARTNERSHIP_OF_CODE: KeyedRead<CodeKey, CodeKey & { partnership_id: number }> = {
	key: { programme_id: "bigint", folded: "text" },
	text: `select code.programme_id, code.folded, code.partnership_id from coupon_codes code
		where code.programme_id = :programme_id and code.folded = :folded
			and exists (select 1 from partnerships own where own.id = code.partnership_id and own.ended_at_ms is null)`,
	rowOf: (found) => found as CodeKey & { partnership_id: number },
};

/** Properties of a sale report that may credit a partner. */
export interface Signals {
	programme: Pick<Programme, "id" | "currency">;
	/** Coupon codes in the folded form, in which codes are compared. */
	codes: readonly string[];
	/** Decrypts the report's click IDs. The result contains null for an ID that cannot be decrypted. */
	openClicks(): OpenedClicks;
}

/** The partnerships that a batch of requests may credit, or whose sales it may change. */
export interface KnownPartnerships {
	/**
	 * Returns the active partnership of the first code that belongs to one, or null if no code does.
	 */
	ofCodes(programmeId: number, codes: readonly string[]): number | null;
	find(partnershipId: number | null | undefined): CreditablePartnership | undefined;
	all: readonly CreditablePartnership[];
	/**
	 * Returns the decrypted clicks of a report. They are decrypted only if the report's coupon codes credit nobody,
	 * because a code takes precedence.
	 */
	clicksOf(signals: Signals | undefined): OpenedClicks;
	/** Returns the partnerships that the codes and clicks of a report belong to. */
	candidatesOf(signals: Signals): readonly CreditablePartnership[];
}

/**
 * Reads the partnerships that the signals name, and those with the ids in `others`. One statement reads the
 * coupon codes, and another one the partnerships.
 */
export async function readPartnerships(
	db: Db,
	batch: BatchStore,
	signals: readonly Signals[],
	others: readonly (number | null | undefined)[],
): Promise<KnownPartnerships> {
	const asked = signals.flatMap(({ programme, codes }) =>
		codes.map((folded) => [`${programme.id} ${folded}`, { programme_id: programme.id, folded }] as const),
	);
	const coded = await batch.find(db, PARTNERSHIP_OF_CODE, [...new Map(asked).values()]);
	const idByCode = new Map(
		coded.map(({ programme_id, folded, partnership_id }) => [`${programme_id} ${folded}`, partnership_id]),
	);
	const ofCodes = (programmeId: number, codes: readonly string[]) => {
		for (const code of codes) {
			const id = idByCode.get(`${programmeId} ${code}`);
			if (id !== undefined) return id;
		}
		return null;
	};
	// All clicks are decrypted in one loop, because decrypting them between other work takes twice as long.
	const clicks = new Map(
		signals.map((one) => [one, ofCodes(one.programme.id, one.codes) === null ? one.openClicks() : []]),
	);
	const clicked = [...clicks.values()].flat().map((click) => click?.partnershipId);
	const ids = [...idByCode.values(), ...clicked, ...others].flatMap((id) => id ?? []);
	const all = await batch.find(db, PARTNERSHIP, keysOf([...new Set(ids)]));
	const byId = new Map<number | null | undefined, CreditablePartnership>(
		all.map((partnership) => [partnership.id, partnership]),
	);
	const clicksOf = (one: Signals | undefined) => (one === undefined ? [] : (clicks.get(one) ?? []));
	return {
		ofCodes,
		find: (partnershipId) => byId.get(partnershipId),
		all,
		clicksOf,
		candidatesOf: (one) =>
			[ofCodes(one.programme.id, one.codes), ...clicksOf(one).map((click) => click?.partnershipId)].flatMap(
				(id) => byId.get(id) ?? [],
			),
	};
}

/** Returns the callback target of the partner, or null if it has no endpoint or no active secret. */
function targetOf(found: FoundPartnership): PartnerTarget | null {
	const { receiverId, kind, endpointId, endpointEpoch, url, form, chosenEvents } = found;
	const { secretId, sealedSecret, isFailing } = found;
	if (receiverId === null || kind === null || endpointEpoch === null || secretId === null) return null;
	if (url === null || form === null || chosenEvents === null) return null;
	const endpoint = { endpointId, endpointEpoch, url, form, chosenEvents };
	return { receiverId, kind, ...endpoint, secretId, sealedSecret, isFailing: Boolean(isFailing) };
}
