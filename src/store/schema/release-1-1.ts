// What 1.1 changes in the schema of 1.0.0. Processes of 1.0.0 may run beside for a moment, so it only adds, but for
// the search of their pages; a later release drops what only 1.0.0 used.

import type { Dialect } from "./dialect.ts";

/** As domain/slot has them. */
const SLOTS = 64;

/**
 * Two nonces that are good at the same moment expire ten minutes apart at most; ten more for clocks that do not agree, as
 * with pruning.
 */
const NONCES_COPIED_MS = 1_200_000;

export function engineSlots(dialect: Dialect): readonly string[] {
	return [...slotTables(dialect), ...PROCESS_CAP, ...rowByRow(dialect), ...orderSearch(dialect)];
}

/** Engines own slots instead of leasing lanes. */
function slotTables({ givenId }: Dialect): readonly string[] {
	const slots = Array.from({ length: SLOTS }, (_, slot) => `(${slot})`);
	return [
		"alter table engines add column renewed_at_ms bigint",
		"alter table engines add column most_in_flight integer",
		`create table slots (slot ${givenId}, engine_id bigint)`,
		`insert into slots (slot) values ${slots.join(", ")}`,
	];
}

/** A process also tells how many requests it may have on their way. */
const PROCESS_CAP: readonly string[] = ["alter table processes add column most_in_flight integer"];

/**
 * Retention deletes row by row from what was in partitions by time. No row is moved: each table has a default partition,
 * which takes every row whose range has none. Where it is the only one, as in a new database, it takes the table's place;
 * a database of 1.0.0 keeps those that it has made. The default ones have an index by time for rows that were never meant
 * to be many, which nothing needs.
 */
function rowByRow({ inPartitions, churned }: Dialect): readonly string[] {
	if (inPartitions === null) return [];
	const byShare = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0";
	return [
		// Nonces are good for ten minutes, so they are few, and those that count are copied: without the time in its key the
		// table itself refuses a nonce that comes twice. Before the others, as calls of 1.0.0 lock them: nonces, then the log.
		"lock table nonces in access exclusive mode",
		`create table plain_nonces (
			programme_id bigint not null, nonce text not null, expires_at_ms bigint not null,
			primary key (programme_id, nonce)) ${churned}`,
		`insert into plain_nonces select programme_id, nonce, max(expires_at_ms) from nonces
			where expires_at_ms > (select max(expires_at_ms) - ${NONCES_COPIED_MS} from nonces) group by 1, 2`,
		"drop table nonces",
		"alter table plain_nonces rename to nonces",
		"alter index plain_nonces_pkey rename to nonces_pkey",
		"create index nonces_by_expiry on nonces (expires_at_ms)",
		"drop index attempts_other_by_time",
		"drop index inbound_calls_other_by_time",
		`alter table attempts_other set (${byShare})`,
		`alter table inbound_calls_other set (${byShare})`,
		"lock table inbound_calls, attempts in access exclusive mode",
		// The default partition has the same columns, indexes and defaults: it needs nothing but the names.
		`do $$ declare one text; renaming text; begin
			foreach one in array array['attempts', 'inbound_calls'] loop
				continue when (select count(*) from pg_inherits where inhparent = one::regclass) > 1;
				select string_agg(format('alter index %I rename to %I', part.relname, whole.relname), ';') into renaming
					from pg_index join pg_inherits on inhrelid = indexrelid
					join pg_class part on part.oid = inhrelid join pg_class whole on whole.oid = inhparent
					where indrelid = (one || '_other')::regclass;
				execute format('alter table %1$s detach partition %1$s_other', one);
				execute format('drop table %s', one);
				execute format('alter table %1$s_other rename to %1$s', one);
				execute renaming;
			end loop;
		end $$`,
	];
}

/**
 * Order ids are found by the database's own index of trigrams, which is filled here: about half a minute for a million
 * conversions. Both databases have a table `order_search` to be asked by LIKE, with what is in small letters.
 */
function orderSearch({ kind }: Dialect): readonly string[] {
	const index = {
		sqlite: [
			`create virtual table order_search using fts5(order_id, content='conversions', content_rowid='id',
				tokenize='trigram', detail='none', columnsize=0)`,
			"insert into order_search (order_search) values ('rebuild')",
			`create trigger conversions_found after insert on conversions begin
				insert into order_search (rowid, order_id) values (new.id, new.order_id); end`,
			`create trigger conversions_lost after delete on conversions begin
				insert into order_search (order_search, rowid, order_id) values ('delete', old.id, old.order_id); end`,
		],
		postgres: [
			"create extension if not exists pg_trgm",
			"create index conversions_by_part on conversions using gin (lower(order_id) gin_trgm_ops)",
			"create view order_search as select id as rowid, lower(order_id) as order_id from conversions",
		],
	};
	return [...index[kind], "drop table order_blocks", "drop table order_position"];
}
