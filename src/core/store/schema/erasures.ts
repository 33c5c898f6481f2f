// Erasures of people and partners. The triggers of append-only tables are changed so that an erasure may remove
// texts, and nothing else.

import type { Dialect } from "./dialect.ts";

export function erasureTables(dialect: Dialect): readonly string[] {
	return [
		"alter table people add column erased_at_ms bigint",
		"alter table partners add column erased_at_ms bigint",

		// Each row of this table is a person or partner who was erased. The row stays, so that its id can be compared
		// with a backup.
		`create table erasures (
			id ${dialect.generatedId},
			kind text not null check (kind in ('person', 'partner')),
			subject_id bigint not null,
			public_id text not null unique,
			erased_by bigint,
			erased_at_ms bigint not null,
			sealed_words text,
			round integer not null,
			step integer not null,
			position text not null,
			due_at_ms bigint,
			finished_at_ms bigint
		)`,
		// This index serves findDueErasure.
		"create index erasures_by_due on erasures (due_at_ms) where due_at_ms is not null",

		...allowRemoval(dialect, "entries", ENTRY_COLUMNS, [
			["reason", "= 'erased'"],
			["sub_1", "is null"],
			["sub_2", "is null"],
			["sub_3", "is null"],
		]),
		...allowRemoval(dialect, "statements", STATEMENT_COLUMNS, [["sealed_parties", "= ''"]]),
	];
}

const ENTRY_COLUMNS =
	"id, partner_id, programme_id, conversion_id, kind, amount, currency, statement_id, person_id, at_ms, decided_at_ms";
const STATEMENT_COLUMNS =
	"id, public_id, number, year, seq, partner_id, currency, month, time_zone, opening, earned, changed, adjusted, " +
	"total, is_carried, first_entry_id, last_entry_id, job_id, issued_at_ms, issued_by";

/**
 * Returns the statements that allow removing texts from an append-only table. `texts` lists the columns that may
 * change, each with the condition that the new value must meet.
 */
function allowRemoval(
	{ kind }: Dialect,
	table: string,
	otherColumns: string,
	texts: readonly (readonly [column: string, removed: string])[],
): readonly string[] {
	const names = texts.map(([column]) => column).join(", ");
	const isSame = kind === "sqlite" ? "is not" : "is distinct from";
	const isOther = texts
		.map(
			([column, removed]) =>
				`(new.${column} ${isSame} old.${column} and (new.${column} ${removed}) is not true)`,
		)
		.join(" or ");
	if (kind === "sqlite") {
		const refusal = `begin select raise(abort, '${table} is append-only'); end`;
		return [
			`drop trigger ${table}_refuse_update`,
			`create trigger ${table}_refuse_update before update of ${otherColumns} on ${table} ${refusal}`,
			`create trigger ${table}_refuse_texts before update of ${names} on ${table} when ${isOther} ${refusal}`,
		];
	}
	return [
		`drop trigger ${table}_refuse_changes on ${table}`,
		`create trigger ${table}_refuse_changes before update of ${otherColumns} or delete on ${table}
			for each statement execute function ${table}_refuse_changes()`,
		`create trigger ${table}_refuse_texts before update of ${names} on ${table}
			for each row when (${isOther}) execute function ${table}_refuse_changes()`,
	];
}
