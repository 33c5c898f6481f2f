// Replacement of the sealing key: which key seals, which keys each process knows, and which derived keys of former
// keys are stored.

import type { Dialect } from "./dialect.ts";

export function replaceableSealingKey(dialect: Dialect): readonly string[] {
	const { kind, assignedId, generatedId } = dialect;
	return [
		// This table has a single row, which names the key that seals by its id. See queries/sealing-key.ts.
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

		// Each row has keys that were derived from a former sealing key, sealed by the present key.
		`create table kept_keys (
			id ${generatedId},
			former_id text not null,
			kind text not null,
			sealed text not null,
			expires_at_ms bigint,
			unique (former_id, kind)
		)`,

		// Ids of the sealing keys that a process knows, separated by spaces. Null in the row of a process of an earlier
		// version.
		"alter table processes add column known_keys text",

		// A statement still never changes, except that its sealed part is sealed again with another key.
		`drop trigger statements_refuse_texts${kind === "sqlite" ? "" : " on statements"}`,
	];
}
