// Programmes, their people, and every Postback URL that they have had.

import type { Generated } from "kysely";
import type { KeyRight, ProgrammeRole } from "../../domain/roles.ts";

export interface ProgrammesTable {
	id: Generated<number>;
	public_id: string;
	name: string;
	currency: string;
	/** Percentages with four decimals, as text. See domain/money.ts. */
	commission_rate: string;
	fee_rate: string;
	approval_days: number;
	/** Limits within which owners may change `approval_days`. Staff set both. */
	approval_days_min: Generated<number>;
	approval_days_max: Generated<number>;
	parks_pixels: 0 | 1;
	parked_days: number;
	/** 1 if only sales that a partner brought have a commission and a fee. */
	credits_partners: Generated<0 | 1>;
	/** Number of days after a click in which a sale is credited to it. */
	click_days: Generated<number>;
	/** Name of the query parameter that carries the click id to the shop's page. */
	click_parameter: Generated<string>;
	/** Whether partners see the basket values of their sales. */
	shows_baskets: Generated<0 | 1>;
	/** Whether strangers may apply as partners on a public page. */
	takes_applications: Generated<0 | 1>;
	partner_terms: Generated<string>;
	/** The present Postback URL. */
	endpoint_id: number | null;
	/** Rises when the URL is removed. Deliveries of an older epoch are cancelled for good. */
	endpoint_epoch: Generated<number>;
	last_mailed_at_ms: number | null;
	created_at_ms: number;
	/** Each of the three is written once. See queries/first-times.ts. */
	first_signed_at_ms: number | null;
	first_pixel_at_ms: number | null;
	first_callback_at_ms: number | null;
}

/** One row is a person of a shop in a programme, with their role. Staff have no rows here. */
export interface ProgrammePeopleTable {
	programme_id: number;
	person_id: number;
	role: ProgrammeRole;
}

/** Every Postback URL that was ever saved, so that an old attempt still shows where it was sent. */
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
	/** Name that people have chosen. They may change it. */
	name: string;
	/** SHA-256 of the key. The key itself is shown once and never stored. */
	hash: string;
	/** Last characters of the key, so that people can distinguish keys. */
	hint: string;
	created_at_ms: number;
	revoked_at_ms: number | null;
	/** Accurate to five minutes, because a write for every request would cost too much. */
	last_used_at_ms: number | null;
	key_right: KeyRight;
	/** The person who issued it, or null for the command line. */
	issued_by: number | null;
}

export interface SigningSecretsTable {
	id: Generated<number>;
	public_id: string;
	receiver_id: number;
	/** Sealed with AES-256-GCM. See domain/sealing.ts. */
	sealed: string;
	/** Last characters of the secret, so that people can distinguish secrets. */
	hint: string;
	created_at_ms: number;
	/** Null while the secret is only prepared. See domain/secret-life.ts. */
	activated_at_ms: number | null;
	/** Time at which another secret replaced it. It stays valid for inbound requests for a while. */
	replaced_at_ms: number | null;
	/** Time at which a person discarded it or ended it early. */
	ended_at_ms: number | null;
	/** The person who prepared it, or null if it came from the command line or with the programme's first key. */
	prepared_by: number | null;
}

export interface NoncesTable {
	programme_id: number;
	nonce: string;
	expires_at_ms: number;
}
