// The sealing key. queries/sealing-key.ts describes how the tables are used.

import type { Generated } from "kysely";

/** This table has a single row. It names keys by their ids (domain/key-ring.ts). */
export interface SealingKeyTable {
	one: 1;
	/** Key that seals, or null if nothing was sealed yet. */
	present_id: string | null;
	/** Key that sealed before the present key, or null. */
	former_id: string | null;
	/** Key that will seal as soon as all processes know it, or null. */
	next_id: string | null;
	/** Time at which the present key began to seal in place of the former one. */
	replaced_at_ms: number | null;
	/**
	 * Time at which the last value sealed by the former key had been sealed again. Null while the replacement is in
	 * progress.
	 */
	resealed_at_ms: number | null;
	/** Number of changes of this table and of `kept_keys`. Processes compare it to notice changes. */
	changes: Generated<number>;
}

/** Each row has keys that were derived from a former sealing key. */
export interface KeptKeysTable {
	id: Generated<number>;
	former_id: string;
	kind: KeptKind;
	/** Derived keys by their uses, as JSON, sealed by the sealing key. */
	sealed: string;
	/** Time after which everything that was made with these keys has expired. Null if they are kept forever. */
	expires_at_ms: number | null;
}

export type KeptKind = "clicks" | "cursors" | "cookies";
