// API keys, signing secrets, and the nonces of signed requests.

import type { Generated } from "kysely";

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
}

export interface NoncesTable {
	programme_id: number;
	nonce: string;
	expires_at_ms: number;
}
