// What the two databases spell differently when tables are made.

/** What must be spelled differently when tables are made. */
export interface Dialect {
	/** An integer key that numbers itself. */
	selfNumberedId: string;
	/** One whose numbers are never given again, where others may still mean a row by its number when it is gone. */
	lastingId: string;
	/** An integer key that is given: a delivery has its event's. */
	givenId: string;
	/** Suffix for tables read mostly by primary key: SQLite then keeps the rows in the key's own tree, one instead of two. */
	clustered: string;
	/** Put behind a table whose rows are rewritten in place: leaves room on their page for it. */
	rewritten: string;
	/** Put behind a small table whose rows come and go all day: cleared of dead rows by their number, not by their share. */
	churned: string;
	/** For tables whose rows go by their age; null where they are deleted one by one. */
	inPartitions: InPartitions | null;
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

/** A table that is kept in partitions by the time in one of its columns, its `key`. */
export interface InPartitions {
	/** Put behind the columns of its primary key, which must have the time in it. */
	keyColumn(key: string): string;
	/** Put behind the table, in place of `clustered`. */
	suffix(key: string): string;
	/** Its column `id` that numbers itself, and its primary key. */
	selfNumberedId(table: string, key: string): string;
	/** Statements to stand before such a table. */
	before(table: string): readonly string[];
	/** Statements to stand behind it. */
	rest(table: string, key: string): readonly string[];
}
