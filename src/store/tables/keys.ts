// API keys, signing secrets, and the nonces of signed requests.

import type { Generated } from "kysely";
import type { Dialect } from "./dialect.ts";

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

export function keyTables({ selfNumberedId, clustered, inPartitions }: Dialect): readonly string[] {
	return [
		`create table api_keys (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null references programmes(id),
			name text not null, hash text not null unique, hint text not null, created_at_ms bigint not null,
			revoked_at_ms bigint, last_used_at_ms bigint)`,
		"create index api_keys_by_programme on api_keys (programme_id)",
		"create index api_keys_usable on api_keys (programme_id) where revoked_at_ms is null",
		`create table signing_secrets (
			id ${selfNumberedId}, public_id text not null unique,
			receiver_id bigint not null references programmes(id), sealed text not null, hint text not null,
			created_at_ms bigint not null, activated_at_ms bigint, replaced_at_ms bigint, ended_at_ms bigint)`,
		// At most one secret of a receiver is active, and at most one prepared, whoever else is at it just now.
		`create unique index signing_secrets_active on signing_secrets (receiver_id)
			where activated_at_ms is not null and replaced_at_ms is null`,
		`create unique index signing_secrets_prepared on signing_secrets (receiver_id)
			where activated_at_ms is null and ended_at_ms is null`,
		"create index signing_secrets_by_receiver on signing_secrets (receiver_id, replaced_at_ms)",
		`create table nonces (
			programme_id bigint not null, nonce text not null, expires_at_ms bigint not null,
			primary key (programme_id, nonce${inPartitions?.keyColumn("expires_at_ms") ?? ""}))
			${inPartitions?.suffix("expires_at_ms") ?? clustered}`,
		...(inPartitions?.rest("nonces", "expires_at_ms") ?? [
			"create index nonces_by_expiry on nonces (expires_at_ms)",
		]),
	];
}
