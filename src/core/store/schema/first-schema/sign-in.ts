// Passwords, sessions and authenticators.

import type { Dialect } from "../dialect.ts";

export function signInTables({ assignedId, clustered }: Dialect): readonly string[] {
	return [
		// Each row is a person's password. Passwords have a separate table, so that reading a person never loads the
		// hash.
		`create table passwords (
			person_id ${assignedId} references people (id),
			hash text not null,
			changed_at_ms bigint not null
		)`,

		// Each row is a browser in which a person is signed in.
		`create table sessions (
			id text primary key,
			token_hash text not null unique,
			person_id bigint not null references people (id),
			created_at_ms bigint not null,
			last_used_at_ms bigint not null,
			expires_at_ms bigint not null,
			address text not null,
			user_agent text not null
		)`,
		// This index serves the list of a person's sessions, and their end.
		"create index sessions_by_person on sessions (person_id)",

		// Each row is a sign-in that waits for an authenticator code.
		`create table sign_in_challenges (
			token_hash text primary key,
			person_id bigint not null references people (id),
			expires_at_ms bigint not null
		) ${clustered}`,
		// This index serves ending a person's access.
		"create index sign_in_challenges_by_person on sign_in_challenges (person_id)",

		// Each row is an authenticator that a person has set up.
		`create table authenticators (
			person_id ${assignedId} references people (id),
			secret text not null,
			backup_codes text not null,
			turned_on_at_ms bigint
		)`,
	];
}
