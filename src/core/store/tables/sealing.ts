// The sealing key. queries/sealing-key.ts describes how the tables are used.

import type { Generated } from "kysely";

/** The table has one row. Keys are named by their ids (domain/key-ring.ts). */
export interface SealingKeyTable {
	one: 1;
	/** The key that seals. Null until something is sealed. */
	present_id: string | null;
	/** The key that sealed before the present one, or null. */
	former_id: string | null;
	/** The key that is to seal as soon as all processes know it, or null. */
	next_id: string | null;
	/** Time at which the present key began to seal in place of the former one. */
	replaced_at_ms: number | null;
	/** Time at which nothing sealed by the former key was left. Null while its replacement is under way. */
	resealed_at_ms: number | null;
	/** Number of changes of this table and of `kept_keys`, by which processes notice them. */
	changes: Generated<number>;
}

/** One row has keys that were derived from a former sealing key. */
export interface KeptKeysTable {
	id: Generated<number>;
	former_id: string;
	kind: KeptKind;
	/** The derived keys by their uses, as JSON, sealed by the sealing key. */
	sealed: string;
	/** Time after which nothing that was made with them is valid. Null if they are kept for ever. */
	expires_at_ms: number | null;
}

export type KeptKind = "clicks" | "cursors" | "cookies";
