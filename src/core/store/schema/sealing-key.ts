// Replacing the sealing key: which key seals, which keys processes know, and what is kept of former keys.

import type { Dialect } from "./dialect.ts";

export function replaceableSealingKey(dialect: Dialect): readonly string[] {
	const { kind, assignedId, generatedId } = dialect;
	return [
		// The table has one row, which says which key seals. It names keys by their ids. See queries/sealing-key.ts.
		`create table sealing_key (
			one ${assignedId},
			present_id text,
			former_id text,
			next_id text,
			replaced_at_ms bigint,
			resealed_at_ms bigint,
			changes integer not null default 0
		)`,
		"insert into sealing_key (one) values (1)",

		// One row has keys that were derived from a former sealing key, sealed by the present one.
		`create table kept_keys (
			id ${generatedId},
			former_id text not null,
			kind text not null,
			sealed text not null,
			expires_at_ms bigint,
			unique (former_id, kind)
		)`,

		// The ids of the sealing keys that a process knows, separated by spaces. Earlier versions leave it null.
		"alter table processes add column known_keys text",

		// A statement still never changes, but its sealed part is sealed again with another key.
		`drop trigger statements_refuse_texts${kind === "sqlite" ? "" : " on statements"}`,
	];
}
