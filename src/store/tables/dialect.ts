// What the two databases spell differently when tables are made.

/** What must be spelled differently when tables are made. */
export interface Dialect {
	/** An integer key that numbers itself. */
	selfNumberedId: string;
	/** An integer key that is given: a delivery has its event's. */
	givenId: string;
	/** Suffix for tables read mostly by primary key: SQLite then keeps the rows in the key's own tree, one instead of two. */
	clustered: string;
	/** Put behind a table whose rows are rewritten in place: leaves room on their page for it. */
	rewritten: string;
	/** A moment and a truth value as better-auth writes them; our own tables have integers for both. */
	timestamp: string;
	boolean: string;
	/** A text that compares byte by byte, so that what starts alike lies together in its indexes. */
	bytewiseText: string;
	/** What `moveKey` needs before it. */
	transactionNumber: readonly string[];
	/** The columns that order `moves` for listeners, and its primary key: see `MoveOrder`. */
	moveKey: string;
}
