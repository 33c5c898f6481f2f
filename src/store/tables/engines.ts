// Who may send to whom: engines that run, and the slots that they own. queue.ts says how they are used.

/** One row for each engine that runs. An engine without its row owns nothing and stores nothing. */
export interface EnginesTable {
	/** Never given twice. */
	id: number;
	/** By the database's clock; null for an engine of 1.0.0, whose lease is `good_until_ms`. */
	renewed_at_ms: number | null;
	/** How many requests it may have on their way at most; null while it gives its slots up, and for 1.0.0. */
	most_in_flight: number | null;
	/** For engines of 1.0.0, which run beside ours during an upgrade; 1.1 and later write constants. */
	good_until_ms: number;
	held: number;
}

/** As many rows as there are slots, for ever. */
export interface SlotsTable {
	slot: number;
	/** Null while no engine owns it. */
	engine_id: number | null;
}

/** One row at most: callbacks are held on purpose. See store/delivery-pause. */
export interface DeliveryPauseTable {
	one: 1;
	since_ms: number;
}
