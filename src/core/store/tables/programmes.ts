import type { Generated } from "kysely";
import type { BasketRule } from "../../domain/basket-rule.ts";
import type { KeyRight, ProgrammeRole } from "../../domain/roles.ts";

export interface ProgrammesTable {
	id: Generated<number>;
	public_id: string;
	name: string;
	currency: string;
	/**
	 * General rates: a percentage with four decimals, followed by "+" and a fixed amount if there is one. See
	 * domain/rate.ts.
	 */
	commission_rate: string;
	fee_rate: string;
	/** Rates for single event types. Empty if there are none. See `writeByType` in domain/rate.ts. */
	event_rates: Generated<string>;
	approval_days: number;
	/** Limits within which owners may change `approval_days`. Staff set both limits. */
	approval_days_min: Generated<number>;
	approval_days_max: Generated<number>;
	parks_pixels: 0 | 1;
	parked_days: number;
	/** What the basket value contains, and the words that the programme adds to it. See domain/basket-rule.ts. */
	basket_rule: Generated<BasketRule>;
	basket_note: Generated<string>;
	/** 1 if only sales that are credited to a partner have a commission and a fee. */
	credits_partners: Generated<0 | 1>;
	/** Number of days after a click in which a sale is credited to it. */
	click_days: Generated<number>;
	/** Name of the query parameter that carries the click id to the shop's page. */
	click_parameter: Generated<string>;
	shows_baskets: Generated<0 | 1>;
	/** Whether strangers may apply as partners on a public page. */
	takes_applications: Generated<0 | 1>;
	/** Whether the programme is in the list of programmes that partners of the network can apply to. */
	is_listed: Generated<0 | 1>;
	partner_terms: Generated<string>;
	created_at_ms: number;
	/**
	 * Times of the first signed request and of the first pixel call that counted. Each time is stored only once. See
	 * queries/first-times.ts.
	 */
	first_signed_at_ms: number | null;
	first_pixel_at_ms: number | null;
	/**
	 * Time at which staff archived the programme, or null. An archived programme takes no sales and is left out of
	 * lists.
	 */
	archived_at_ms: number | null;
	/** Due time of the last weekly mail about conversions that wait for a decision, or 0 if no such mail was written. */
	weekly_mail_at_ms: Generated<number>;
}

/**
 * Each row is the rates of a programme from a time on, until the next row begins. If a writer stores no row, a
 * trigger does. See schema/rates-on-record.ts.
 */
export interface ProgrammeRatesTable {
	programme_id: number;
	from_ms: number;
	commission_rate: string;
	fee_rate: string;
	event_rates: string;
}

/** Each row is a shop's person in a programme, with their role. Staff have no rows in this table. */
export interface ProgrammePeopleTable {
	programme_id: number;
	person_id: number;
	role: ProgrammeRole;
}

export interface ApiKeysTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	name: string;
	/** SHA-256 of the key. The key itself is shown once and never stored. */
	hash: string;
	/** Last characters of the key, so that people can distinguish keys. */
	hint: string;
	created_at_ms: number;
	revoked_at_ms: number | null;
	/** Time of the last use, accurate to five minutes, because a write for every request would cost too much. */
	last_used_at_ms: number | null;
	key_right: KeyRight;
	/** The person who issued the key, or null for the command line. */
	issued_by: number | null;
}

export interface NoncesTable {
	programme_id: number;
	nonce: string;
	expires_at_ms: number;
}
