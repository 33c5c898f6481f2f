// Order ids as people look for them: folded, a hundred to a row, so that any part of one is found by reading little.

/**
 * Conversions of one programme, in the order of their ids: all those from `first_id` on, up to the next block of the
 * programme or to the position of the index. The last block of a programme grows until it is full.
 */
export interface OrderBlocksTable {
	programme_id: number;
	first_id: number;
	last_id: number;
	/** Of each conversion: how far its id is from `first_id`. */
	ids: string;
	/** Of each conversion, a line: its order id as domain/order-search folds it. */
	orders: string;
}

/** One row: every conversion up to this id is in a block. */
export interface OrderPositionTable {
	one: 1;
	conversion_id: number;
}
