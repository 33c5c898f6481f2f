// Programmes, who looks after them, and every Postback URL they have had.

import type { Generated } from "kysely";
import type { KeyRight, ProgrammeRole } from "../../domain/roles.ts";

export interface ProgrammesTable {
	id: Generated<number>;
	public_id: string;
	name: string;
	currency: string;
	/** Percentages with four decimals, as text: see domain/money. */
	commission_rate: string;
	fee_rate: string;
	approval_days: number;
	/** What owners may change it to; the network's staff set both. */
	approval_days_min: Generated<number>;
	approval_days_max: Generated<number>;
	parks_pixels: 0 | 1;
	parked_days: number;
	/** Commission and fee are for what a partner brought; nobody's sale has none. */
	credits_partners: Generated<0 | 1>;
	/** For how long after a click a sale is credited to it. */
	click_days: Generated<number>;
	/** What brings the click id to the shop's page. */
	click_parameter: Generated<string>;
	/** Whether partners see the value of what they brought. */
	shows_baskets: Generated<0 | 1>;
	/** Whether strangers may apply as partners on a public page. */
	takes_applications: Generated<0 | 1>;
	partner_terms: Generated<string>;
	/** The Postback URL saved now. */
	endpoint_id: number | null;
	/** Goes up when the URL is removed: a delivery of an older epoch is cancelled for good. */
	endpoint_epoch: Generated<number>;
	last_mailed_at_ms: number | null;
	created_at_ms: number;
	/** Each written once: see store/queries/first-times. */
	first_signed_at_ms: number | null;
	first_pixel_at_ms: number | null;
	first_callback_at_ms: number | null;
}

/** A shop's people, with what each is there. Staff are in none. */
export interface ProgrammePeopleTable {
	programme_id: number;
	person_id: number;
	role: ProgrammeRole;
}

/** Every Postback URL ever saved, so that an old attempt still shows where it went. */
export interface EndpointsTable {
	id: Generated<number>;
	receiver_id: number;
	url: string;
	saved_at_ms: number;
}

// API keys, signing secrets, and the nonces of signed requests.

export interface ApiKeysTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	/** What people call it; they choose it, and may change it. */
	name: string;
	/** SHA-256 of the key; the key itself is shown once and not kept. */
	hash: string;
	/** Its last characters, so that people can tell keys apart. */
	hint: string;
	created_at_ms: number;
	revoked_at_ms: number | null;
	/** To five minutes: a key in use must not cost a write for every request. */
	last_used_at_ms: number | null;
	key_right: KeyRight;
	/** The person who issued it, or null for the command line. */
	issued_by: number | null;
}

export interface SigningSecretsTable {
	id: Generated<number>;
	public_id: string;
	receiver_id: number;
	/** AES-256-GCM: see domain/sealing. */
	sealed: string;
	/** Its last characters, so that people can tell secrets apart. */
	hint: string;
	created_at_ms: number;
	/** Null while it is only prepared: see domain/secret-life. */
	activated_at_ms: number | null;
	/** Set when a newer one took its place; still good for inbound requests for a while. */
	replaced_at_ms: number | null;
	/** Set when it was discarded, or ended before its time. */
	ended_at_ms: number | null;
	/** The person who prepared it, or null if it came from the command line or with the programme's first key. */
	prepared_by: number | null;
}

export interface NoncesTable {
	programme_id: number;
	nonce: string;
	expires_at_ms: number;
}
