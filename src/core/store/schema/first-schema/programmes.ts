// Programmes, the people who look after them, API keys and nonces.

import type { Dialect } from "../dialect.ts";

export function programmeTables({ generatedId, clustered, shortLivedRows }: Dialect): readonly string[] {
	return [
		// Each row is a programme, which is a shop's agreement with the network.
		`create table programmes (
			id ${generatedId},
			public_id text not null unique,
			name text not null,
			currency text not null,
			commission_rate text not null,
			fee_rate text not null,
			event_rates text not null default '',
			approval_days integer not null,
			approval_days_min integer not null default 0,
			approval_days_max integer not null default 90,
			parks_pixels integer not null,
			parked_days integer not null,
			basket_rule text not null default 'TOTAL',
			basket_note text not null default '',
			credits_partners integer not null default 0,
			click_days integer not null default 30,
			click_parameter text not null default 'rbclick',
			shows_baskets integer not null default 0,
			takes_applications integer not null default 0,
			is_listed integer not null default 0,
			partner_terms text not null default '',
			created_at_ms bigint not null,
			first_signed_at_ms bigint,
			first_pixel_at_ms bigint,
			archived_at_ms bigint,
			weekly_mail_at_ms bigint not null default 0
		)`,
		// This index serves findProgrammeToRemind.
		"create index programmes_by_weekly_mail on programmes (weekly_mail_at_ms)",

		// Each row is a shop's person in a programme, with their role.
		`create table programme_people (
			programme_id bigint not null references programmes (id),
			person_id bigint not null references people (id),
			role text not null,
			primary key (programme_id, person_id)
		)`,
		// This index serves listProgrammesOf and findProgrammeOf.
		"create index programme_people_by_person on programme_people (person_id)",

		// Each row is an API key, which stays after it was revoked.
		`create table api_keys (
			id ${generatedId},
			public_id text not null unique,
			programme_id bigint not null references programmes (id),
			name text not null,
			hash text not null unique,
			hint text not null,
			key_right text not null,
			issued_by bigint,
			created_at_ms bigint not null,
			revoked_at_ms bigint,
			last_used_at_ms bigint
		)`,
		// This index serves countKeys, and the revoked keys of listApiKeys.
		"create index api_keys_by_programme on api_keys (programme_id)",
		// This index serves the usable keys of listApiKeys, and the checks of the integration.
		"create index api_keys_usable on api_keys (programme_id) where revoked_at_ms is null",

		// Each row is a nonce that a signed request used. The primary key prevents a second use.
		`create table nonces (
			programme_id bigint not null,
			nonce text not null,
			expires_at_ms bigint not null,
			primary key (programme_id, nonce)
		) ${clustered} ${shortLivedRows}`,
		// This index serves pruneShortLived.
		"create index nonces_by_expiry on nonces (expires_at_ms)",
	];
}
