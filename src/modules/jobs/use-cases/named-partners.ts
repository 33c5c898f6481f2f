// Finds the partners that files name by name or by ID, together with the programme in which they are
// partners.

import { parseName } from "#core/domain/display-name.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { PARTNER_ID } from "#core/domain/id.ts";
import { findNamedProgrammes } from "#core/programmes/named-programmes.ts";
import { findPartnersByName, findPartnersByPublicId } from "#core/store/queries/partners.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import {
	findPartnershipsBetween,
	lockPartnershipsById,
	type NamedPartnership,
} from "#modules/partners/store/partnerships.ts";
import { type Cells, cellOf, type JobColumn, type JobRow } from "./kind.ts";

export const PARTNER_COLUMN: JobColumn = {
	name: "partner",
	means: "The name as it is here, or the ID (ptn_…).",
};

async function findNamedPartners(
	db: Db,
	named: readonly string[],
): Promise<(named: string) => Result<Partner>> {
	const distinct = [...new Set(named)];
	const ids = distinct.filter((text) => PARTNER_ID.test(text));
	const names = distinct.flatMap((text) => parseName(text) ?? []);
	const byId = new Map((await findPartnersByPublicId(db, ids)).map((found) => [found.public_id, found]));
	const byName = Map.groupBy(await findPartnersByName(db, names), ({ name }) => name);
	return (text) => {
		const partnerWithId = byId.get(text);
		if (partnerWithId !== undefined && partnerWithId.erased_at_ms !== null) {
			return refusePartner(`The partner ${text} was erased. Remove the line.`);
		}
		if (partnerWithId !== undefined) return succeed(partnerWithId);
		const [partner, another] = byName.get(parseName(text) ?? "") ?? [];
		if (another !== undefined) {
			return refusePartner(`Several partners are called “${text}”. Write the ID, ptn_…, instead.`);
		}
		if (partner !== undefined) return succeed(partner);
		return refusePartner(
			text === ""
				? "The partner is missing. Write the name, or the ID."
				: `There is no partner “${text}”. Import the partners first, or correct the name.`,
		);
	};
}

function refusePartner(detail: string): ReturnType<typeof refuse> {
	return refuse("unknown_partner", detail, "partner");
}

/** The programme that a line names, and the partnership that its partner has there. */
export interface NamedAgreement {
	programme: Programme;
	/** The partnership, or null if the line names no partner. */
	partnership: NamedPartnership | null;
}

/**
 * Finds the programmes and partnerships of a batch of lines, with the same number of statements for any number of
 * lines. A line without a partner has a null partnership.
 */
export async function findNamedAgreements(
	db: Db,
	rows: readonly JobRow[],
): Promise<(cells: Cells) => Result<NamedAgreement>> {
	const namesIn = (column: string) =>
		rows.map(({ cells }) => cellOf(cells, column)).filter((text) => text !== "");
	const programmeOf = await findNamedProgrammes(db, namesIn("programme"));
	const partnerOf = await findNamedPartners(db, namesIn("partner"));
	const idsOf = <Found extends { id: number }>(found: readonly Result<Found>[]) => [
		...new Set(found.flatMap((one) => (one.ok ? [one.value.id] : []))),
	];
	const partnerships = await findPartnershipsBetween(
		db,
		idsOf(namesIn("programme").map(programmeOf)),
		idsOf(namesIn("partner").map(partnerOf)),
	);
	const byKey = new Map(partnerships.map((found) => [`${found.programme_id} ${found.partner_id}`, found]));
	return (cells) => {
		const programme = programmeOf(cellOf(cells, "programme"));
		if (!programme.ok) return programme;
		const named = cellOf(cells, "partner");
		if (named === "") return succeed({ programme: programme.value, partnership: null });
		const partner = partnerOf(named);
		if (!partner.ok) return partner;
		const partnership = byKey.get(`${programme.value.id} ${partner.value.id}`);
		if (partnership !== undefined) return succeed({ programme: programme.value, partnership });
		return refusePartner(
			`“${partner.value.name}” is not a partner of “${programme.value.name}”. Import the partners first, with this programme, or add them on its Partners page.`,
		);
	};
}

export async function lockNamedPartnerships(trx: Db, rows: readonly JobRow[]): Promise<void> {
	const agreementOf = await findNamedAgreements(trx, rows);
	const ids = rows.flatMap(({ cells }) => {
		const named = agreementOf(cells);
		return named.ok && named.value.partnership !== null ? [named.value.partnership.id] : [];
	});
	await lockPartnershipsById(trx, [...new Set(ids)]);
}

/** An agreement whose partnership may get links and codes. */
export interface ActiveAgreement extends NamedAgreement {
	partnership: NamedPartnership;
}

/** Returns the agreement if the line names a partner whose partnership has not ended. */
export function requireActive(agreement: Result<NamedAgreement>): Result<ActiveAgreement> {
	if (!agreement.ok) return agreement;
	const { programme, partnership } = agreement.value;
	if (partnership === null) return refusePartner("The partner is missing. Write the name, or the ID.");
	if (partnership.ended_at_ms === null) return succeed({ programme, partnership });
	return refuse("partnership_ended", sayEnded(partnership), "partner");
}

export function sayEnded({ partner_name, programme_name }: NamedPartnership): string {
	return `The partnership of “${partner_name}” with “${programme_name}” has ended. Resume it on its page first, or remove the line.`;
}
