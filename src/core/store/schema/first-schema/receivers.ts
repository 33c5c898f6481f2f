// Receivers of callbacks, their Postback URLs and their signing secrets.

import type { Dialect } from "../dialect.ts";

export function receiverTables({ generatedId, neverReusedId }: Dialect): readonly string[] {
	return [
		// Each row is a receiver of callbacks: the shop of a programme, or a partner. The id of a deleted row is never
		// used again, because notifications and the memory of engines may still contain it.
		`create table receivers (
			id ${neverReusedId},
			kind text not null check (kind in ('shop', 'partner')),
			programme_id bigint unique references programmes (id),
			partner_id bigint unique,
			endpoint_id bigint,
			endpoint_epoch integer not null default 0,
			last_mailed_at_ms bigint,
			first_callback_at_ms bigint,
			check ((kind = 'shop') = (programme_id is not null) and (kind = 'partner') = (partner_id is not null))
		)`,

		// Each row is a Postback URL that was saved at some time, with the form of its callbacks and the chosen events.
		// The form "listen" is no longer saved. See endpoints-with-urls.ts.
		`create table endpoints (
			id ${generatedId},
			receiver_id bigint not null references receivers (id),
			url text not null,
			form text not null default 'json' check (form in ('json', 'get', 'listen')),
			events text not null
				default 'conversion.recorded conversion.approved conversion.rejected conversion.reversed',
			saved_at_ms bigint not null
		)`,
		// This index serves listUrls.
		"create index endpoints_by_receiver on endpoints (receiver_id, id)",

		// Each row is a signing secret, which stays after another secret has replaced it.
		`create table signing_secrets (
			id ${generatedId},
			public_id text not null unique,
			receiver_id bigint not null references receivers (id),
			sealed text not null,
			hint text not null,
			prepared_by bigint,
			created_at_ms bigint not null,
			activated_at_ms bigint,
			replaced_at_ms bigint,
			ended_at_ms bigint
		)`,
		// This unique index allows only one active secret per receiver, even if two people activate a secret at the same
		// time. It serves every signature.
		`create unique index signing_secrets_active on signing_secrets (receiver_id)
			where activated_at_ms is not null and replaced_at_ms is null`,
		// This unique index allows only one prepared secret per receiver.
		`create unique index signing_secrets_prepared on signing_secrets (receiver_id)
			where activated_at_ms is null and ended_at_ms is null`,
		// This index serves the list of secrets that an inbound request may be signed with.
		"create index signing_secrets_by_receiver on signing_secrets (receiver_id, replaced_at_ms)",
	];
}
