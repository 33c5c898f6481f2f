// People, their one-time sign-in links, and the record of their actions.

import type { Dialect } from "../dialect.ts";

export function peopleTables({ generatedId, assignedId, clustered }: Dialect): readonly string[] {
	return [
		// Each row is a person who can sign in, or who was invited to sign in.
		`create table people (
			id ${generatedId},
			public_id text not null unique,
			email text not null unique,
			kind text not null,
			created_at_ms bigint not null,
			name text not null default '',
			zone text,
			locale text,
			mails_callbacks_failing integer not null default 1,
			mails_callbacks_working_again integer not null default 1,
			mails_decisions_waiting integer not null default 1,
			mails_sales text not null default 'daily',
			deactivated_at_ms bigint
		)`,
		// This index serves listStaff, and the addresses of the staff who are mailed.
		"create index people_by_kind on people (kind, id)",

		// Each row is a one-time sign-in link, for an invitation, a new password or a new address.
		`create table sign_in_links (
			id ${generatedId},
			public_id text not null unique,
			purpose text not null,
			token_hash text not null unique,
			person_id bigint,
			email text,
			programme_id bigint,
			partner_id bigint,
			role text,
			made_by bigint,
			created_at_ms bigint not null,
			expires_at_ms bigint not null,
			withdrawn text
		)`,
		// This unique index allows only one link per person and purpose. It serves replaceSignInLink and the lists of
		// people.
		"create unique index sign_in_links_by_person on sign_in_links (person_id, purpose) where person_id is not null",
		// This unique index allows only one invitation per email address and programme. It serves listProgrammeInvitations.
		"create unique index sign_in_links_by_programme on sign_in_links (programme_id, email) where email is not null",
		// This unique index allows only one invitation per email address and partner. It serves listPartnerInvitations.
		"create unique index sign_in_links_by_partner on sign_in_links (partner_id, email) where partner_id is not null",
		// This index serves findSignInLinksOf by the address of a person whose access ends.
		"create index sign_in_links_by_email on sign_in_links (email) where email is not null",
		// This index serves findSignInLinksOf for the links that a person created, when that person's access ends.
		"create index sign_in_links_by_maker on sign_in_links (made_by) where made_by is not null",

		// This table has a single row, which transactions lock when they change who has access (see lockAccess).
		`create table access_lock (id ${assignedId})`,
		"insert into access_lock (id) values (1)",

		// Each row is an authenticator code that was used and cannot be used again.
		`create table spent_codes (
			person_id bigint not null,
			code_hash text not null,
			expires_at_ms bigint not null,
			primary key (person_id, code_hash)
		) ${clustered}`,

		// Each row is the count of one subject of a rate limit.
		`create table limit_counts (
			subject text primary key,
			uses integer not null,
			ends_at_ms bigint not null
		) ${clustered}`,
		// This index serves pruneShortLived.
		"create index limit_counts_by_end on limit_counts (ends_at_ms)",

		// Each row is an action of a person, the command line or the service.
		`create table audit_entries (
			id ${generatedId},
			at_ms bigint not null,
			person_id bigint,
			programme_id bigint,
			action text not null,
			subject text,
			detail text,
			address text,
			token_id bigint
		)`,
		// Each of the next three indexes serves listAudit with one filter of the page.
		"create index audit_entries_by_programme on audit_entries (programme_id, id)",
		"create index audit_entries_by_person on audit_entries (person_id, id)",
		"create index audit_entries_by_action on audit_entries (action, id)",
		// This index serves listAudit by period.
		"create index audit_entries_by_time on audit_entries (at_ms, id)",
	];
}
