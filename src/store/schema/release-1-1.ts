// What 1.1 changes in the schema of 1.0.0. Processes of 1.0.0 may run beside for a moment, so it only adds, but for
// the search of their pages and their jobs; a later release drops what only 1.0.0 used.

import type { Dialect } from "./dialect.ts";

/** As domain/slot has them. */
const SLOTS = 64;

/**
 * Two nonces that are good at the same moment expire ten minutes apart at most; ten more for clocks that do not agree, as
 * with pruning.
 */
const NONCES_COPIED_MS = 1_200_000;

export function engineSlots(dialect: Dialect): readonly string[] {
	return [
		...slotTables(dialect),
		...PROCESS_CAP,
		...HOLDER,
		...rowByRow(dialect),
		...orderSearch(dialect),
		...jobTables(dialect),
		...partnerTables(dialect),
		...ISSUERS,
		// Along conversions_by_window: the approval window is no longer for what only a pixel has reported.
		`update conversions set window_ends_at_ms = null where status = 'RECORDED' and window_ends_at_ms is not null
			and source = 'pixel' and confirmed_at_ms is null`,
		...FAILURES_IN_SIGHT,
		...STAFF_DIGEST,
	];
}

/** Who issued a key and what it may ask for, who prepared a secret: of earlier ones as far as the audit trail knows. */
const ISSUERS: readonly string[] = [
	"alter table api_keys add column key_right text",
	"alter table api_keys add column issued_by bigint",
	"alter table signing_secrets add column prepared_by bigint",
	`update api_keys set issued_by = a.person_id from audit_entries a
		where a.action = 'key.issued' and a.subject = api_keys.public_id`,
	`update signing_secrets set prepared_by = a.person_id from audit_entries a
		where a.action = 'secret.prepared' and a.programme_id = receiver_id and a.subject = 'rbs_…' || hint`,
];

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

/** What failed for good stays in sight until it is resent or set aside. */
const FAILURES_IN_SIGHT: readonly string[] = [
	"alter table deliveries add column set_aside integer",
	`create index deliveries_in_sight on deliveries (receiver_id, failed_at_ms)
		where failed_at_ms is not null and set_aside is null`,
];

const STAFF_DIGEST: readonly string[] = ["alter table network add column staff_told_at_ms bigint"];

/** A process also tells how many requests it may have on their way. */
const PROCESS_CAP: readonly string[] = ["alter table processes add column most_in_flight integer"];

/** Who holds all callbacks; null for the command line, and for a process of 1.0.0 that ran with the setting. */
const HOLDER: readonly string[] = ["alter table delivery_pause add column held_by bigint"];

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
 * Decisions and imports are kinds of one job. What had been started stays on record as it ended: one that was under way is
 * stopped where it was, and its file may be uploaded again, because what was decided or is here already is found to be so.
 * What nobody had started is to be uploaded again.
 */
function jobTables({ lastingId, clustered }: Dialect): readonly string[] {
	const copied = `public_id, kind, programme_id, decided_by, file_name, list_query, file_bytes, person_id, applied_by,
		state, invites, row_count, done_rows, done_batches, lines, claim_until_ms, created_at_ms, applied_at_ms, finished_at_ms`;
	const ended = `case when state = 'done' then 'done' else 'stopped' end`;
	const since = "created_at_ms, applied_at_ms, coalesce(finished_at_ms, applied_at_ms)";
	return [
		`create table jobs (
			id ${lastingId}, public_id text not null unique, kind text not null, programme_id bigint, decided_by text,
			file_name text, list_query text, file_bytes bigint not null, person_id bigint, applied_by bigint,
			state text not null, invites integer not null, row_count integer not null, done_rows integer not null,
			done_batches integer not null, summary text, lines text not null, failure text, access_ended_at_ms bigint,
			claim text, claim_until_ms bigint not null, created_at_ms bigint not null, applied_at_ms bigint,
			finished_at_ms bigint)`,
		"create index jobs_by_programme on jobs (programme_id, id)",
		"create index jobs_to_do on jobs (claim_until_ms, id) where state in ('uploaded', 'applying')",
		"create index jobs_to_clear on jobs (id) where lines <> 'gone'",
		`create table job_lines (
			job_id bigint not null, seq integer not null, lines text not null, verdicts text,
			primary key (job_id, seq)) ${clustered}`,
		`insert into jobs (${copied})
			select public_id, 'decisions', programme_id, decided_by, file_name, list_query, 0, person_id, person_id,
				${ended}, 0, row_count, done_rows, 0, 'gone', 0, ${since}
			from bulk_jobs where state in ('applying', 'done') order by id`,
		`insert into jobs (${copied})
			select public_id, kind, null, null, file_name, null, file_bytes, person_id, applied_by,
				${ended}, invites, row_count, done_rows, 0, 'gone', 0, ${since}
			from import_jobs where state in ('applying', 'stopped', 'done') order by id`,
		...["bulk_rows", "bulk_jobs", "import_batches", "import_jobs"].map((table) => `drop table ${table}`),
	];
}

/** Each of so many sales takes what came since the last into the index: 7 µs a row so, 30 with every batch of fifty. */
const ORDERS_INDEXED_AT_ONCE = 512;

/**
 * Order ids are found by the database's own index of trigrams, which is filled here: about half a minute for a million
 * conversions. Both databases have `order_search`, to be asked by LIKE with what is in small letters, and `order_tail`
 * for what is not in the index yet: on SQLite whatever is behind `up_to`. PostgreSQL keeps a list of its own for that.
 */
function orderSearch({ kind }: Dialect): readonly string[] {
	const index = {
		sqlite: [
			`create virtual table order_search using fts5(order_id, content='conversions', content_rowid='id',
				tokenize='trigram', detail='none', columnsize=0)`,
			"insert into order_search (order_search) values ('rebuild')",
			"create table order_indexed (up_to integer not null)",
			"insert into order_indexed select coalesce(max(id), 0) from conversions",
			`create view order_tail as
				select id as rowid, order_id from conversions where id > (select up_to from order_indexed)`,
			`create trigger conversions_found after insert on conversions when new.id % ${ORDERS_INDEXED_AT_ONCE} = 0 begin
				insert into order_search (rowid, order_id) select * from order_tail where rowid < new.id;
				update order_indexed set up_to = max(up_to, new.id - 1); end`,
			// SQLite gives the number of a removed last row again.
			`create trigger conversions_back after insert on conversions
				when new.id <= (select up_to from order_indexed) begin
				insert into order_search (rowid, order_id) values (new.id, new.order_id); end`,
			`create trigger conversions_lost after delete on conversions
				when old.id <= (select up_to from order_indexed) begin
				insert into order_search (order_search, rowid, order_id) values ('delete', old.id, old.order_id); end`,
			`create trigger conversions_renamed after update of order_id on conversions
				when old.id <= (select up_to from order_indexed) begin
				insert into order_search (order_search, rowid, order_id) values ('delete', old.id, old.order_id);
				insert into order_search (rowid, order_id) values (new.id, new.order_id); end`,
		],
		postgres: [
			"create extension if not exists pg_trgm",
			// New entries go into a list. PostgreSQL empties it in the background, with the statistics, long before it is full:
			// else every 12,000th sale would wait for that, a second on a busy machine.
			`create index conversions_by_part on conversions using gin (lower(order_id) gin_trgm_ops)
				with (gin_pending_list_limit = 16384)`,
			"alter table conversions set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000)",
			"create view order_search as select id as rowid, lower(order_id) as order_id from conversions",
			"create view order_tail as select * from order_search where false",
		],
	};
	return [...index[kind], "drop table order_blocks", "drop table order_position"];
}

/** Who brings sales. Clicks have no rows, only hourly counts: the click id carries what a credit needs. */
function partnerTables({ lastingId, givenId, clustered, rewritten }: Dialect): readonly string[] {
	return [
		...[
			"credits_partners integer not null default 0",
			"click_days integer not null default 30",
			"click_parameter text not null default 'rbclick'",
			"shows_baskets integer not null default 0",
			"takes_applications integer not null default 0",
			"partner_terms text not null default ''",
		].map((column) => `alter table programmes add column ${column}`),
		`create table partners (
			id ${lastingId}, public_id text not null unique, name text not null, site text not null,
			created_at_ms bigint not null)`,
		`create table partner_people (
			partner_id bigint not null, person_id bigint not null, primary key (partner_id, person_id)) ${clustered}`,
		"create index partner_people_by_person on partner_people (person_id)",
		`create table partnerships (
			id ${lastingId}, public_id text not null unique, programme_id bigint not null, partner_id bigint not null,
			commission_rate text, terms text not null,
			created_at_ms bigint not null, ended_at_ms bigint, ended_by_staff integer not null default 0,
			unique (programme_id, partner_id))`,
		"create index partnerships_by_partner on partnerships (partner_id)",
		`create table applications (
			id ${lastingId}, public_id text not null unique, programme_id bigint not null, name text not null,
			email text not null, site text not null, about text not null, terms text not null,
			created_at_ms bigint not null, unique (programme_id, email))`,
		"create index applications_by_programme on applications (programme_id, id)",
		`create table partner_links (
			id ${lastingId}, code text not null unique, partnership_id bigint not null, name text not null,
			target text not null, created_at_ms bigint not null)`,
		"create index partner_links_by_partnership on partner_links (partnership_id, id)",
		`create table coupon_codes (
			programme_id bigint not null, folded text not null, code text not null, partnership_id bigint not null,
			created_at_ms bigint not null, primary key (programme_id, folded)) ${clustered}`,
		"create index coupon_codes_by_partnership on coupon_codes (partnership_id)",
		`create table landing_hosts (
			programme_id bigint not null, host text not null, with_subdomains integer not null,
			primary key (programme_id, host)) ${clustered}`,
		`create table click_hours (
			link_id bigint not null, kind text not null, hour integer not null, clicks bigint not null,
			primary key (link_id, kind, hour)) ${rewritten || clustered}`,
		`create table credits (
			conversion_id ${givenId}, programme_id bigint not null, partnership_id bigint, word text not null,
			sold_at_ms bigint not null, link_id bigint, clicked_at_ms bigint, sub_1 text not null, sub_2 text not null, sub_3 text not null)`,
		`create index credits_by_sale on credits (partnership_id, sold_at_ms, conversion_id)
			where partnership_id is not null`,
	];
}
