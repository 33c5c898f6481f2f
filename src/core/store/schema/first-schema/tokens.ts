// Tokens for the APIs of the network and of partners, and the references with which their callers name what they create.

import type { Dialect } from "../dialect.ts";

export function tokenTables({ generatedId, clustered }: Dialect): readonly string[] {
	return [
		// Each row is an API token, which stays after it was revoked.
		`create table api_tokens (
			id ${generatedId},
			public_id text not null unique,
			partner_id bigint references partners (id),
			name text not null,
			hash text not null unique,
			hint text not null,
			token_right text not null,
			issued_by bigint not null references people (id),
			created_at_ms bigint not null,
			expires_at_ms bigint,
			revoked_at_ms bigint,
			last_used_at_ms bigint
		)`,
		// This index serves listApiTokens and revokeTokensOf for a partner.
		"create index api_tokens_by_partner on api_tokens (partner_id, id)",
		// This index serves listTokensIssuedBy when the access of a person ends.
		"create index api_tokens_by_issuer on api_tokens (issued_by) where revoked_at_ms is null",

		// Each row is the name that an API caller has given to something that it created. The owner is 0 for the network,
		// and otherwise the id of a partner.
		`create table api_references (
			owner_id bigint not null,
			kind text not null,
			reference text not null,
			request_hash text not null,
			resource text not null,
			created_at_ms bigint not null,
			primary key (owner_id, kind, reference)
		) ${clustered}`,
	];
}
