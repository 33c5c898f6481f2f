import type { Generated, Selectable } from "kysely";

/** Each row is a company or a person that brings sales. */
export interface PartnersTable {
	id: Generated<number>;
	public_id: string;
	name: string;
	/** The partner's website, or empty text. */
	site: string;
	/** VAT percentage and note that staff entered for the partner's statements. No amount is calculated from them. */
	vat_percent: Generated<string | null>;
	vat_note: Generated<string>;
	created_at_ms: number;
	/** Time at which staff archived the partner, or null. An archived partner is left out of lists. */
	archived_at_ms: number | null;
	/** Time at which the partner was erased, or null. An erased partner is archived, too. */
	erased_at_ms: Generated<number | null>;
}

export interface PartnerPeopleTable {
	partner_id: number;
	person_id: number;
}

export type Partner = Selectable<PartnersTable>;
