// Partners, their partnerships with programmes, their links and codes, and the sales that are credited to them.
// Clicks have no rows. They are counted by the quarter of an hour, and the click id contains everything that a credit
// needs.

import type { Dialect } from "../dialect.ts";

export function partnerTables({
	neverReusedId,
	assignedId,
	clustered,
	includeInKey,
	updatedOften,
}: Dialect): readonly string[] {
	return [
		// Each row is a company or a person that brings sales.
		`create table partners (
			id ${neverReusedId},
			public_id text not null unique,
			name text not null,
			site text not null,
			vat_percent text,
			vat_note text not null default '',
			created_at_ms bigint not null,
			archived_at_ms bigint
		)`,

		// This index serves findPartnersByName, with which imports find the partners that their files name.
		"create index partners_by_name on partners (name)",

		// Each row is a person who signs in for a partner.
		`create table partner_people (
			partner_id bigint not null,
			person_id bigint not null,
			primary key (partner_id, person_id)
		) ${clustered}`,
		// This index serves the look-up of the partners that a person signs in for.
		"create index partner_people_by_person on partner_people (person_id)",

		// Each row is a partner's participation in a programme. It stays after the partnership has ended.
		`create table partnerships (
			id ${neverReusedId},
			public_id text not null unique,
			programme_id bigint not null,
			partner_id bigint not null,
			commission_rate text,
			event_rates text not null default '',
			terms text not null,
			created_at_ms bigint not null,
			ended_at_ms bigint,
			ended_by_staff integer not null default 0,
			clicks_ended_at_ms bigint,
			unique (programme_id, partner_id)
		)`,
		// This index serves a partner's list of programmes.
		"create index partnerships_by_partner on partnerships (partner_id)",

		// Each row is an application to become a partner that nobody has answered yet.
		`create table applications (
			id ${neverReusedId},
			public_id text not null unique,
			programme_id bigint not null,
			partner_id bigint,
			name text not null,
			email text not null,
			site text not null,
			about text not null,
			terms text not null,
			created_at_ms bigint not null,
			unique (programme_id, partner_id)
		)`,
		// This unique index allows a stranger only one application per programme. A person who signs in for several
		// partners can apply for each of them.
		`create unique index applications_of_strangers on applications (programme_id, email)
			where partner_id is null`,
		// This index serves a programme's list of applications.
		"create index applications_by_programme on applications (programme_id, id)",

		// Each row is a partner's link to a page of the shop.
		`create table partner_links (
			id ${neverReusedId},
			code text not null unique,
			partnership_id bigint not null,
			name text not null,
			target text not null,
			created_at_ms bigint not null
		)`,
		// This index serves the list of a partnership's links.
		"create index partner_links_by_partnership on partner_links (partnership_id, id)",

		// Each row is a coupon code, which belongs to one partnership of its programme.
		`create table coupon_codes (
			programme_id bigint not null,
			folded text not null,
			code text not null,
			partnership_id bigint not null,
			created_at_ms bigint not null,
			primary key (programme_id, folded)
		) ${clustered}`,
		// This index serves the list of a partnership's coupon codes.
		"create index coupon_codes_by_partnership on coupon_codes (partnership_id)",

		// Each row is a host that a programme's links may lead to. An owner's entry waits until staff confirm it.
		`create table landing_hosts (
			programme_id bigint not null,
			host text not null,
			with_subdomains integer not null,
			waiting_since_ms bigint,
			primary key (programme_id, host)
		) ${clustered}`,
		// This index serves the staff's list of hosts to confirm.
		`create index landing_hosts_waiting on landing_hosts (waiting_since_ms)
			where waiting_since_ms is not null`,

		// Each row is the number of clicks of a kind on a link in a quarter of an hour.
		`create table click_quarters (
			link_id bigint not null,
			kind text not null,
			quarter integer not null,
			clicks bigint not null,
			primary key (link_id, kind, quarter) ${includeInKey("clicks")}
		) ${clustered} ${updatedOften}`,

		// Each row is the credit for a conversion. It says which partnership gets the credit, if any, and why.
		`create table credits (
			conversion_id ${assignedId},
			programme_id bigint not null,
			partnership_id bigint,
			word text not null,
			sold_at_ms bigint not null,
			link_id bigint,
			clicked_at_ms bigint,
			sub_1 text not null,
			sub_2 text not null,
			sub_3 text not null
		)`,
		// This index serves a partner's list and sums of credited sales.
		`create index credits_by_sale on credits (partnership_id, sold_at_ms, conversion_id)
			where partnership_id is not null`,
	];
}
