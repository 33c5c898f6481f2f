// The network that runs Ringback, and the processes of this installation.

import type { Generated } from "kysely";
import type { ChoreRecord } from "../../domain/chore.ts";
import type { ProcessRecord } from "../../domain/process.ts";

export interface NetworkTable {
	one: 1;
	name: string | null;
	/**
	 * Brand of the network. Null until it is chosen or the first signing secret is created. See store/network-cache.ts.
	 */
	brand: string | null;
	/** 1 as soon as a shop may rely on the brand. It never becomes 0 again. */
	brand_is_fixed: Generated<0 | 1>;
	/** Public id of the sample programme, or null if no sample programme was opened. */
	sample_programme: string | null;
	/** Colour of the network, in the form that programmes/network.ts checks. */
	colour: string | null;
	support_address: string | null;
	/** IANA name of the time zone in which days and months are counted. */
	time_zone: string;
	/** Address of the network on statements, with line breaks. */
	postal_address: string | null;
	/** Minimum payout for each currency, such as "EUR 25.00;USD 30.00". It may be empty. */
	minimum_payouts: string;
	sender_name: string | null;
	sender_address: string | null;
	logo_type: string | null;
	/** Part of the SHA-256 of the logo's bytes. The logo's URL contains it. */
	logo_hash: string | null;
	logo_width: number | null;
	logo_height: number | null;
	/** Bytes of the logo in base64, which both databases store in the same way. They are read only to serve the logo. */
	logo_data: string | null;
	/** Time at which the mail server last accepted a test mail. */
	mail_tested_at_ms: number | null;
	/** Time at which staff finished or dismissed the set-up. */
	set_up_ended_at_ms: number | null;
	/**
	 * Time of the last backup, by `ringback backup` or recorded by `ringback record-backup`. The backup contains
	 * everything that was stored before this time.
	 */
	backed_up_at_ms: number | null;
	/** Size of the last backup, or null if it is unknown. */
	backup_bytes: number | null;
	/** Location of the last backup, in an operator's words, or null. */
	backup_note: string | null;
	/** Time of the last backup that failed, or null if one has succeeded since. */
	backup_failed_at_ms: number | null;
	/** Reason why the last failed backup failed, or null. */
	backup_failure: string | null;
	staff_told_at_ms: number | null;
	/**
	 * Position of the last move that was read for mails about sales, or null if none was read yet. See
	 * modules/partners/store/sale-news.ts.
	 */
	sales_read_at: number | null;
	sales_read_id: number | null;
}

/**
 * Each row is a chore with its last success and its failures, as recorded by all processes. A newer program may have
 * added rows for chores that this program does not know.
 */
export interface ChoresTable extends Omit<ChoreRecord, "name"> {
	name: string;
}

/** Each row is a process, from its start to its clean stop. */
export interface ProcessesTable extends ProcessRecord {
	/** Ids of the sealing keys that the process knows, separated by spaces. Null in a process of an earlier version. */
	known_keys: Generated<string | null>;
}

// Engines and the slots that they own. queries/queue.ts describes how they are used.

/** Each row is a running engine. An engine without a row owns no slots and stores nothing. */
export interface EnginesTable {
	id: number;
	/** Time of the last renewal, by the database's clock. */
	renewed_at_ms: number;
	/** Maximum number of requests that the engine may have in flight, or null while it gives up its slots. */
	most_in_flight: number | null;
}

/** Each row is a slot. The number of rows never changes. See domain/slot.ts. */
export interface SlotsTable {
	slot: number;
	/** Engine that owns the slot, or null if the slot is free. */
	engine_id: number | null;
}

/** The table has one row while all callbacks are held, and is empty otherwise. See queries/delivery-pause.ts. */
export interface DeliveryPauseTable {
	one: 1;
	since_ms: number;
	/** Person who held the callbacks, or null for the command line. */
	held_by: number | null;
}

export interface RestoresTable {
	id: Generated<number>;
	/** Time of the restored backup. Data that was recorded after it is missing from the database. */
	as_of_ms: number;
	restored_at_ms: number;
	/** Time at which staff confirmed that they have compared payments with the bank, or null if they have not. */
	compared_at_ms: number | null;
	compared_by: number | null;
}
