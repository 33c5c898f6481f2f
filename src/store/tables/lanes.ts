// Who may send to whom: engines that run, the lanes that are leased to them, and what they have in hand. queue.ts says
// how they are used.

import type { Dialect } from "./dialect.ts";

/** One row for each engine that runs: its lease. Whoever removes it has taken over. */
export interface EnginesTable {
	/** Never given twice. */
	id: number;
	good_until_ms: number;
	/** How many lanes it holds, as it last said. */
	held: number;
}

/** One row for each receiver that is owed something. */
export interface LanesTable {
	receiver_id: number;
	/** When something may be sent. While it is due nobody needs to write it again. */
	next_due_ms: number;
	/** Null while it is nobody's. */
	engine_id: number | null;
}

/** One row for each pass that handed something out, until everything of it is settled. */
export interface HandoutsTable {
	engine_id: number;
	number: number;
	at_ms: number;
	/** Numbers with commas between them, and for each the due time that its row had in the queue. */
	delivery_ids: string;
	dues: string;
}

/** One row at most: callbacks are held on purpose. See store/delivery-pause. */
export interface DeliveryPauseTable {
	one: 1;
	since_ms: number;
}

export function laneTables({ givenId, clustered, rewritten, churned }: Dialect): readonly string[] {
	return [
		`create table engines (id ${givenId}, good_until_ms bigint not null, held integer not null) ${rewritten}`,
		`create table lanes (
			receiver_id ${givenId}, next_due_ms bigint not null, engine_id bigint) ${rewritten}`,
		"create index lanes_free on lanes (next_due_ms) where engine_id is null",
		"create index lanes_by_engine on lanes (engine_id) where engine_id is not null",
		`create table handouts (
			engine_id bigint not null, number bigint not null, at_ms bigint not null, delivery_ids text not null,
			dues text not null, primary key (engine_id, number)) ${clustered} ${churned}`,
		"create table delivery_pause (one integer primary key, since_ms bigint not null)",
	];
}
