import type { Generated, Selectable } from "kysely";

declare module "#core/store/schema/tables.ts" {
	interface Schema {
		erasures: ErasuresTable;
	}
}

export type ErasedKind = "person" | "partner";

/**
 * One row is a person or partner who was erased. The erasure itself is one transaction. A chore then walks the large
 * tables in small steps, twice (use-cases/erasure-work).
 */
export interface ErasuresTable {
	id: Generated<number>;
	kind: ErasedKind;
	/** Id of the person or partner. */
	subject_id: number;
	public_id: string;
	/** The person who carried out the erasure, or null for the command line. */
	erased_by: number | null;
	erased_at_ms: number;
	/** Names and addresses that the chore looks for, sealed. Null once the erasure is finished. */
	sealed_words: string | null;
	/** Number of the walk through the tables, from 1. */
	round: number;
	/** Number of the present step of the walk, from 0. */
	step: number;
	/** Position within the step, or empty at its start. */
	position: string;
	/** Time at which the chore continues, or null once the erasure is finished. */
	due_at_ms: number | null;
	finished_at_ms: number | null;
}

export type Erasure = Selectable<ErasuresTable>;
