// Partnerships of partners with programmes, their links and codes, and the sales that are credited to them.

import type { Generated, Selectable } from "kysely";
import type { Reason } from "#core/domain/conversion.ts";
import { moduleTable } from "#core/store/module-parts.ts";
import type { ClickKind } from "../domain/click.ts";
import type { CreditWord } from "../domain/credit.ts";
import type { SaleNewsKind } from "../domain/sale-news.ts";

declare module "#core/store/schema/tables.ts" {
	interface Schema {
		partnerships: PartnershipsTable;
		applications: ApplicationsTable;
		partner_links: PartnerLinksTable;
		coupon_codes: CouponCodesTable;
		partnership_rates: PartnershipRatesTable;
		landing_hosts: LandingHostsTable;
		click_quarters: ClickQuartersTable;
		credits: CreditsTable;
		sale_news: SaleNewsTable;
	}
}

/**
 * One row is a partner in a programme. After its end, a partnership still earns from earlier clicks, unless staff have
 * ended the clicks too.
 */
export interface PartnershipsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	partner_id: number;
	/** General commission in the form of the programme's, or null for the programme's rate. */
	commission_rate: string | null;
	/** Commissions for single event types, or empty. See `writeByType` in core/domain/rate.ts. */
	event_rates: Generated<string>;
	/** The programme's terms at the time when the partnership began. */
	terms: string;
	created_at_ms: number;
	ended_at_ms: number | null;
	/** 1 if staff ended the partnership. Then only staff can resume it. */
	ended_by_staff: Generated<0 | 1>;
	/**
	 * Time before which clicks credit nobody, or null if all clicks count. Staff may end the clicks together with the
	 * partnership.
	 */
	clicks_ended_at_ms: Generated<number | null>;
}

/** One row is the commission of a partnership from a time on, until the next row begins. See `ProgrammeRatesTable`. */
export interface PartnershipRatesTable {
	partnership_id: number;
	from_ms: number;
	commission_rate: string | null;
	event_rates: string;
}

/** One row is an application to become a partner of a programme that nobody has answered yet. */
export interface ApplicationsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	/** The partner that applies, or null if the application came from the programme's public page. */
	partner_id: number | null;
	name: string;
	email: string;
	site: string;
	about: string;
	/** The terms that the applicant saw and accepted. */
	terms: string;
	created_at_ms: number;
}

export interface PartnerLinksTable {
	id: Generated<number>;
	/** Part of the link's address, /c/<code>. */
	code: string;
	partnership_id: number;
	name: string;
	target: string;
	created_at_ms: number;
}

/** One row is a coupon code, which belongs to one partnership of its programme. */
export interface CouponCodesTable {
	programme_id: number;
	/** The code in the form in which codes are compared. See domain/credit.ts. */
	folded: string;
	code: string;
	partnership_id: number;
	created_at_ms: number;
}

/** One row is a host that a programme's links may lead to. */
export interface LandingHostsTable {
	programme_id: number;
	host: string;
	with_subdomains: 0 | 1;
	/** Time at which an owner entered the host, or null if staff entered or confirmed it. No link leads to a waiting host. */
	waiting_since_ms: number | null;
}

/**
 * One row is the number of clicks in a quarter of an hour. Quarters are counted since 1970, and quarter 0 holds the number
 * of all clicks.
 */
export interface ClickQuartersTable {
	link_id: number;
	kind: ClickKind;
	quarter: number;
	clicks: number;
}

/** One row is the credit for a conversion that the shop's server has reported, in a programme that credits partners. */
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
	/** Time of the sale, copied from the conversion. It does not change after the shop's server has reported the sale. */
	sold_at_ms: number;
}

/** One row is news of one kind about the sales of a partner on one day, which a person is still to be mailed about. */
export interface SaleNewsTable {
	person_id: number;
	/** Day in the network's time zone, such as 2026-11-18. */
	day: string;
	partner_id: number;
	programme_id: number;
	kind: SaleNewsKind;
	/** Reason of a rejection, reversal or refund, or empty. */
	reason: Reason | "";
	currency: string;
	/** Number of moves that this row adds up. */
	sales: number;
	/** Sum of the commissions of these sales. */
	commission: string;
	/** The first of these sales, each on a line with its conversion id and commission. */
	named: string;
	due_at_ms: number;
}

export type Partnership = Selectable<PartnershipsTable>;
export type Application = Selectable<ApplicationsTable>;
export type PartnerLink = Selectable<PartnerLinksTable>;
export type StoredCredit = Selectable<CreditsTable>;

export const CREDITS = moduleTable<StoredCredit>({
	name: "credits",
	columns: {
		conversion_id: "bigint",
		programme_id: "bigint",
		partnership_id: "bigint",
		word: "text",
		sold_at_ms: "bigint",
		link_id: "bigint",
		clicked_at_ms: "bigint",
		sub_1: "text",
		sub_2: "text",
		sub_3: "text",
	},
	isOnePerConversion: true,
	writtenWith: "sales",
});
