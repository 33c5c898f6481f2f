// Refunds, the accounts of partners, statements and payments. docs/decisions/money.md and statements.md explain them.

import type { Dialect } from "../dialect.ts";

export function moneyTables(dialect: Dialect): readonly string[] {
	const { generatedId, neverReusedId, assignedId, clustered, bytewiseText } = dialect;
	return [
		// Each row is a refund of a part of a conversion's value.
		`create table refunds (
			id ${generatedId},
			programme_id bigint not null,
			conversion_id bigint not null,
			refund_id ${bytewiseText} not null,
			amount text not null,
			basket_value text not null,
			reason text not null,
			person_id bigint,
			at_ms bigint not null
		)`,
		// This unique index prevents a refund from being stored twice. It also serves reading the refunds of a
		// conversion, which every further refund needs.
		"create unique index refunds_by_conversion on refunds (conversion_id, refund_id)",

		// Each row is an entry in the account of a partner. Rows are never changed or deleted, so no id is used again.
		`create table entries (
			id ${generatedId},
			partner_id bigint not null,
			programme_id bigint,
			conversion_id bigint,
			kind text not null,
			amount text not null,
			currency text not null,
			statement_id bigint,
			person_id bigint,
			reason text,
			at_ms bigint not null,
			decided_at_ms bigint,
			sub_1 text,
			sub_2 text,
			sub_3 text
		)`,
		// This index serves the check that the entries of a conversion add up to its commission.
		"create index entries_by_conversion on entries (conversion_id) where conversion_id is not null",
		// This index serves the list of a partner's account filtered by kind, the adjustments of a statement, and
		// payments. Entries of the kind EARNED, which are the majority, are not in the index, so an approval writes one
		// index less.
		`create index entries_by_kind on entries (partner_id, kind${dialect.thenId}) where kind <> 'EARNED'`,
		// This index serves the payments of a statement.
		"create index entries_by_statement on entries (statement_id) where statement_id is not null",
		...refuseChanges(dialect, "entries"),

		// Each row is an entry that no statement contains yet. The key serves a partner's open balance, and the
		// preparation and issue of statements. On SQLite the rows of a partner are neighbours, so that a statement
		// changes few pages.
		`create table open_entries (
			partner_id bigint not null,
			entry_id bigint not null,
			programme_id bigint,
			kind text not null,
			amount text not null,
			currency text not null,
			at_ms bigint not null,
			primary key (partner_id, entry_id)
		) ${clustered}`,

		// Each row is a statement that was issued to a partner. Rows are never changed.
		`create table statements (
			id ${neverReusedId},
			public_id text not null unique,
			number text not null unique,
			year integer not null,
			seq integer not null,
			partner_id bigint not null,
			currency text not null,
			month text not null,
			time_zone text not null,
			opening text not null,
			earned text not null,
			changed text not null,
			adjusted text not null,
			total text not null,
			is_carried integer not null,
			first_entry_id bigint,
			last_entry_id bigint,
			sealed_parties text not null,
			job_id bigint,
			issued_at_ms bigint not null,
			issued_by bigint,
			unique (year, seq),
			unique (partner_id, currency, month)
		)`,
		// This index serves a partner's list of statements, and the opening balance of the next one.
		`create index statements_by_partner on statements (partner_id, currency${dialect.thenId})`,
		// This index serves the staff's list of a month.
		`create index statements_by_month on statements (month${dialect.thenId})`,
		...refuseChanges(dialect, "statements"),

		// Each row is the part of a statement that comes from one programme.
		`create table statement_lines (
			statement_id bigint not null,
			programme_id bigint not null,
			programme_name text not null,
			sales integer not null,
			earned text not null,
			changed text not null,
			primary key (statement_id, programme_id)
		) ${clustered}`,

		// Each row is an entry that a statement contains. The primary key allows an entry in only one statement. It
		// begins with the partner, so that on SQLite a statement changes few pages. The entries of a statement are
		// between its first and last entry.
		`create table statement_entries (
			partner_id bigint not null,
			entry_id bigint not null,
			statement_id bigint not null,
			primary key (partner_id, entry_id)
		) ${clustered}`,

		// Each row is a statement that was paid. Undoing a payment deletes the row, and its two entries remain.
		`create table payments (
			statement_id ${assignedId},
			entry_id bigint not null,
			paid_on text not null,
			reference text not null,
			person_id bigint,
			at_ms bigint not null
		)`,

		// Each row is the last statement number of a year.
		`create table statement_numbers (
			year ${assignedId},
			last integer not null
		)`,

		// Each row has the payment details of a partner, sealed with the key of the installation.
		`create table payment_details (
			partner_id ${assignedId},
			sealed text not null,
			changed_at_ms bigint not null,
			changed_by bigint
		)`,
	];
}

function refuseChanges({ kind }: Dialect, table: string): readonly string[] {
	if (kind === "sqlite") {
		return ["update", "delete"].map(
			(action) =>
				`create trigger ${table}_refuse_${action} before ${action} on ${table}
					begin select raise(abort, '${table} is append-only'); end`,
		);
	}
	return [
		`create function ${table}_refuse_changes() returns trigger language plpgsql as $$
			begin raise exception '${table} is append-only'; end $$`,
		`create trigger ${table}_refuse_changes before update or delete on ${table}
			for each statement execute function ${table}_refuse_changes()`,
	];
}
