// Searches order ids by any part of them, with an index of trigrams. Both databases have two relations with the same
// columns. `order_search` holds the order ids that are indexed, and `order_tail` those that are not indexed yet.
// Queries compare them by LIKE with a pattern in lower case.

import type { Dialect } from "../dialect.ts";

/**
 * Number of conversions that SQLite adds to the search index at once. At this size a row costs 7 µs. In batches of 50
 * it would cost 30 µs.
 */
const INDEXED_AT_ONCE = 512;

export function orderSearchTables({ kind }: Dialect): readonly string[] {
	return kind === "sqlite" ? SQLITE : POSTGRES;
}

const SQLITE: readonly string[] = [
	// This index serves the search by a part of an order id. It reads the order ids from `conversions` and stores only
	// trigrams.
	`create virtual table order_search using fts5(
		order_id,
		content = 'conversions',
		content_rowid = 'id',
		tokenize = 'trigram',
		detail = 'none',
		columnsize = 0
	)`,

	// This table has one row with the highest conversion id that is in the index.
	"create table order_indexed (up_to integer not null)",
	"insert into order_indexed (up_to) values (0)",
	`create view order_tail as
		select id as rowid, order_id from conversions where id > (select up_to from order_indexed)`,

	`create trigger conversions_found after insert on conversions when new.id % ${INDEXED_AT_ONCE} = 0
	begin
		insert into order_search (rowid, order_id) select * from order_tail where rowid < new.id;
		update order_indexed set up_to = max(up_to, new.id - 1);
	end`,
	// After the newest row was deleted, SQLite gives its id to the next row. If that id already counts as indexed, the
	// new row would be missing from `order_tail`, so this trigger adds it to the index at once.
	`create trigger conversions_back after insert on conversions
		when new.id <= (select up_to from order_indexed)
	begin
		insert into order_search (rowid, order_id) values (new.id, new.order_id);
	end`,
	`create trigger conversions_lost after delete on conversions
		when old.id <= (select up_to from order_indexed)
	begin
		insert into order_search (order_search, rowid, order_id) values ('delete', old.id, old.order_id);
	end`,
	`create trigger conversions_renamed after update of order_id on conversions
		when old.id <= (select up_to from order_indexed)
	begin
		insert into order_search (order_search, rowid, order_id) values ('delete', old.id, old.order_id);
		insert into order_search (rowid, order_id) values (new.id, new.order_id);
	end`,
];

const POSTGRES: readonly string[] = [
	"create extension if not exists pg_trgm",
	// This index serves the search by a part of an order id. PostgreSQL puts new entries into a pending list, and
	// merges the list into the index when it is full or when the table is analyzed. The sale that fills the list would
	// wait for the merge, up to a second on a busy machine, so the list is large and the table is analyzed long before
	// it is full.
	`create index conversions_by_part on conversions using gin (lower(order_id) gin_trgm_ops)
		with (gin_pending_list_limit = 16384)`,
	"alter table conversions set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000)",
	"create view order_search as select id as rowid, lower(order_id) as order_id from conversions",
	// The GIN index also searches its own pending list, so no row has to be searched separately, and this view
	// is empty.
	"create view order_tail as select * from order_search where false",
];
