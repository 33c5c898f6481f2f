// The network that runs Ringback: how it looks and what it is called. One row.

import type { ChoreRecord } from "../../domain/chore.ts";
import type { ProcessRecord } from "../../domain/process.ts";

export interface NetworkTable {
	one: 1;
	name: string | null;
	/** Null until it is chosen, or the first signing secret is made: see store/queries/known-network. */
	brand: string | null;
	/** As programmes/network has it. */
	colour: string | null;
	support_address: string | null;
	sender_name: string | null;
	sender_address: string | null;
	logo_type: string | null;
	/** SHA-256 of its bytes, shortened: part of its address. */
	logo_hash: string | null;
	/** In pixels. */
	logo_width: number | null;
	logo_height: number | null;
	/** In base64, which both databases store alike. Never read together with the rest. */
	logo_data: string | null;
	/** When the mail server last took a test mail. */
	mail_tested_at_ms: number | null;
	/** When somebody finished the set-up, or did not want to see it any more. */
	set_up_ended_at_ms: number | null;
	/** When `ringback backup` last took what was stored by then. */
	backed_up_at_ms: number | null;
	/** When staff were last mailed that shops are failing. */
	staff_told_at_ms: number | null;
}

/** How periodic work goes, as all processes know it: one row a chore, also of those that this program does not know. */
export interface ChoresTable extends Omit<ChoreRecord, "name"> {
	name: string;
}

/** One row a process, from its start to its clean stop. */
export type ProcessesTable = ProcessRecord;

// Who may send to whom: engines that run, and the slots that they own. queue.ts says how they are used.

/** One row for each engine that runs. An engine without its row owns nothing and stores nothing. */
export interface EnginesTable {
	/** Never given twice. */
	id: number;
	/** Time of the last renewal, by the database's clock. */
	renewed_at_ms: number;
	/** Maximum number of requests that the engine may have in flight, or null while it gives up its slots. */
	most_in_flight: number | null;
}

/** As many rows as there are slots, for ever. */
export interface SlotsTable {
	slot: number;
	/** Null while no engine owns it. */
	engine_id: number | null;
}

/** One row at most: callbacks are held on purpose. See store/queries/delivery-pause. */
export interface DeliveryPauseTable {
	one: 1;
	since_ms: number;
	/** Null: the command line. */
	held_by: number | null;
}
