// Partners, what they agreed with programmes, their links and codes, and what sales are credited to them.

import type { Generated, Selectable } from "kysely";
import type { ClickKind } from "../../domain/click.ts";
import type { CreditWord } from "../../domain/credit.ts";

/** A company or a person that brings sales. */
export interface PartnersTable {
	id: Generated<number>;
	public_id: string;
	name: string;
	/** Where they bring sales from; may be empty. */
	site: string;
	created_at_ms: number;
}

/** Who signs in for a partner. */
export interface PartnerPeopleTable {
	partner_id: number;
	person_id: number;
}

/** A partner in a programme. One that has ended keeps what it earned, and earns from clicks made before. */
export interface PartnershipsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	partner_id: number;
	/** Percent with four decimals; null for the programme's own. */
	commission_rate: string | null;
	/** The programme's terms as they were when it began. */
	terms: string;
	created_at_ms: number;
	ended_at_ms: number | null;
	/** Theirs alone to resume. */
	ended_by_staff: Generated<0 | 1>;
}

/** Somebody who wants to become a partner, on a programme's public page; until it is answered. */
export interface ApplicationsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	name: string;
	email: string;
	site: string;
	about: string;
	/** The terms that they saw and accepted. */
	terms: string;
	created_at_ms: number;
}

export interface PartnerLinksTable {
	id: Generated<number>;
	/** Of the address /c/<code>. */
	code: string;
	partnership_id: number;
	name: string;
	target: string;
	created_at_ms: number;
}

/** Coupon codes: one belongs to one partnership of a programme. */
export interface CouponCodesTable {
	programme_id: number;
	/** As it is compared: see domain/credit. */
	folded: string;
	code: string;
	partnership_id: number;
	created_at_ms: number;
}

/** Where a programme's links may lead. */
export interface LandingHostsTable {
	programme_id: number;
	host: string;
	with_subdomains: 0 | 1;
}

/** Clicks, counted by the hour since 1970; and ever, as hour 0. */
export interface ClickHoursTable {
	link_id: number;
	kind: ClickKind;
	hour: number;
	clicks: number;
}

/** Who a conversion is credited to, and by what: of programmes that credit partners, for what the shop's server reported. */
export interface CreditsTable {
	/** The partnership that is credited, or null for nobody. */
	partnership_id: number | null;
	word: CreditWord;
	/** The link that was clicked, or null if no click was credited. */
	link_id: number | null;
	clicked_at_ms: number | null;
	sub_1: string;
	sub_2: string;
	sub_3: string;
	conversion_id: number;
	programme_id: number;
	/** The conversion's own: fixed from the moment that the shop's server has reported it. */
	sold_at_ms: number;
}

export type Partner = Selectable<PartnersTable>;
export type Partnership = Selectable<PartnershipsTable>;
export type Application = Selectable<ApplicationsTable>;
export type PartnerLink = Selectable<PartnerLinksTable>;
export type StoredCredit = Selectable<CreditsTable>;
