// The schema of 1.0.0. Frozen: a test knows its hash. `traces`, `lanes`, `handouts`
// and `archive_duty` stand only because they were in it.

import type { Dialect } from "./dialect.ts";

export function firstSchema(dialect: Dialect): readonly string[] {
	return [
		...networkTables(dialect),
		...peopleTables(dialect),
		...linkTables(dialect),
		...signInTables(dialect),
		...programmeTables(dialect),
		...keyTables(dialect),
		...conversionTables(dialect),
		...orderBlockTables(dialect),
		...deliveryTables(dialect),
		...laneTables(dialect),
		...noticeTables(dialect),
		...inboundTables(dialect),
		...listenerTables(dialect),
		...bulkTables(dialect),
		...importTables(dialect),
		...auditTables(dialect),
		...mailTables(dialect),
		...choreTables(dialect),
		...processTables(dialect),
		...traceTables(dialect),
	];
}

function networkTables({ givenId }: Dialect): readonly string[] {
	return [
		`create table network (
			one ${givenId}, name text, brand text, colour text, support_address text, sender_name text,
			sender_address text, logo_type text, logo_hash text, logo_width integer, logo_height integer,
			logo_data text, mail_tested_at_ms bigint, set_up_ended_at_ms bigint,
			backed_up_at_ms bigint)`,
		"insert into network (one) values (1)",
	];
}

function peopleTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table people (
			id ${selfNumberedId}, public_id text not null unique, email text not null unique,
			kind text not null, created_at_ms bigint not null, name text not null default '',
			zone text, locale text, mails_callbacks_failing integer not null default 1,
			mails_callbacks_working_again integer not null default 1, deactivated_at_ms bigint)`,
		"create index people_by_kind on people (kind, id)",
	];
}

function linkTables({ selfNumberedId, givenId }: Dialect): readonly string[] {
	return [
		`create table links (
			id ${selfNumberedId}, public_id text not null unique, purpose text not null, token_hash text not null unique,
			person_id bigint, email text, programme_id bigint, role text, made_by bigint, created_at_ms bigint not null,
			expires_at_ms bigint not null, withdrawn text)`,
		"create unique index links_by_person on links (person_id, purpose) where person_id is not null",
		"create unique index links_by_programme on links (programme_id, email) where email is not null",
		"create index links_by_email on links (email) where email is not null",
		"create index links_by_maker on links (made_by) where made_by is not null",
		`create table link_lock (id ${givenId})`,
		"insert into link_lock (id) values (1)",
	];
}

function signInTables({ timestamp, boolean, clustered }: Dialect): readonly string[] {
	return [
		// Its id is the person's public id, so that a session names the person.
		`create table auth_users (
			"id" text primary key, "name" text not null, "email" text not null unique, "emailVerified" ${boolean} not null,
			"image" text, "createdAt" ${timestamp} not null, "updatedAt" ${timestamp} not null, "twoFactorEnabled" ${boolean})`,
		`create table auth_sessions (
			"id" text primary key, "expiresAt" ${timestamp} not null, "token" text not null unique,
			"createdAt" ${timestamp} not null, "updatedAt" ${timestamp} not null, "ipAddress" text, "userAgent" text,
			"userId" text not null references auth_users ("id") on delete cascade)`,
		'create index auth_sessions_by_user on auth_sessions ("userId")',
		`create table auth_accounts (
			"id" text primary key, "accountId" text not null, "providerId" text not null,
			"userId" text not null references auth_users ("id") on delete cascade,
			"accessToken" text, "refreshToken" text, "idToken" text, "accessTokenExpiresAt" ${timestamp},
			"refreshTokenExpiresAt" ${timestamp}, "scope" text, "password" text,
			"createdAt" ${timestamp} not null, "updatedAt" ${timestamp} not null)`,
		// Unique: whoever accepts two invitations at once still has one password.
		'create unique index auth_accounts_by_user on auth_accounts ("userId", "providerId")',
		`create table auth_verifications (
			"id" text primary key, "identifier" text not null, "value" text not null, "expiresAt" ${timestamp} not null,
			"createdAt" ${timestamp} not null, "updatedAt" ${timestamp} not null)`,
		'create index auth_verifications_by_identifier on auth_verifications ("identifier")',
		'create index auth_verifications_by_value on auth_verifications ("value")',
		`create table auth_two_factors (
			"id" text primary key, "secret" text not null, "backupCodes" text not null,
			"userId" text not null references auth_users ("id") on delete cascade,
			"verified" ${boolean}, "failedVerificationCount" integer, "lockedUntil" ${timestamp})`,
		'create index auth_two_factors_by_user on auth_two_factors ("userId")',
		`create table spent_codes (
			person_id bigint not null, code_hash text not null, expires_at_ms bigint not null,
			primary key (person_id, code_hash)) ${clustered}`,
		`create table limit_counts (
			subject text primary key, uses integer not null, ends_at_ms bigint not null) ${clustered}`,
		"create index limit_counts_by_end on limit_counts (ends_at_ms)",
	];
}

function programmeTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table programmes (
			id ${selfNumberedId}, public_id text not null unique, name text not null, currency text not null,
			commission_rate text not null, fee_rate text not null, approval_days integer not null,
			approval_days_min integer not null default 0, approval_days_max integer not null default 90,
			parks_pixels integer not null, parked_days integer not null,
			endpoint_id bigint, endpoint_epoch integer not null default 0,
			last_mailed_at_ms bigint, created_at_ms bigint not null,
			first_signed_at_ms bigint, first_pixel_at_ms bigint, first_callback_at_ms bigint)`,
		`create table programme_people (
			programme_id bigint not null references programmes(id), person_id bigint not null references people(id),
			role text not null,
			primary key (programme_id, person_id))`,
		"create index programme_people_by_person on programme_people (person_id)",
		`create table endpoints (
			id ${selfNumberedId}, receiver_id bigint not null references programmes(id),
			url text not null, saved_at_ms bigint not null)`,
		"create index endpoints_by_receiver on endpoints (receiver_id, id)",
	];
}

function keyTables({ selfNumberedId, clustered, inPartitions }: Dialect): readonly string[] {
	return [
		`create table api_keys (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null references programmes(id),
			name text not null, hash text not null unique, hint text not null, created_at_ms bigint not null,
			revoked_at_ms bigint, last_used_at_ms bigint)`,
		"create index api_keys_by_programme on api_keys (programme_id)",
		"create index api_keys_usable on api_keys (programme_id) where revoked_at_ms is null",
		`create table signing_secrets (
			id ${selfNumberedId}, public_id text not null unique,
			receiver_id bigint not null references programmes(id), sealed text not null, hint text not null,
			created_at_ms bigint not null, activated_at_ms bigint, replaced_at_ms bigint, ended_at_ms bigint)`,
		// At most one secret of a receiver is active, and at most one prepared, whoever else is at it just now.
		`create unique index signing_secrets_active on signing_secrets (receiver_id)
			where activated_at_ms is not null and replaced_at_ms is null`,
		`create unique index signing_secrets_prepared on signing_secrets (receiver_id)
			where activated_at_ms is null and ended_at_ms is null`,
		"create index signing_secrets_by_receiver on signing_secrets (receiver_id, replaced_at_ms)",
		`create table nonces (
			programme_id bigint not null, nonce text not null, expires_at_ms bigint not null,
			primary key (programme_id, nonce${inPartitions?.keyColumn("expires_at_ms") ?? ""}))
			${inPartitions?.suffix("expires_at_ms") ?? clustered}`,
		...(inPartitions?.rest("nonces", "expires_at_ms") ?? [
			"create index nonces_by_expiry on nonces (expires_at_ms)",
		]),
	];
}

function conversionTables({
	selfNumberedId,
	bytewiseText,
	transactionNumber,
	moveKey,
}: Dialect): readonly string[] {
	return [
		`create table conversions (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null,
			order_id ${bytewiseText} not null, event_type text not null, status text not null,
			basket_value text not null, commission text not null, network_fee text not null, currency text not null,
			reason text, test integer not null, source text not null, pixel_basket_value text,
			confirmed_at_ms bigint, decided_by text, occurred_at_ms bigint not null, created_at_ms bigint not null,
			window_ends_at_ms bigint, updated_at_ms bigint not null, imported_decision_at_ms bigint)`,
		"create unique index conversions_by_order on conversions (programme_id, order_id, event_type)",
		"create index conversions_by_programme on conversions (programme_id, id)",
		// The status comes first because SQLite has no statistics and would otherwise read every open row.
		`create index conversions_by_window on conversions (status, window_ends_at_ms)
			where window_ends_at_ms is not null`,
		// A filtered list is the merge of the buckets that its filter names: see store/conversion-buckets.
		"create index conversions_by_bucket on conversions (programme_id, status, event_type, test, id)",
		"create index conversions_by_status on conversions (status, id)",
		// What people sort by; see store/conversion-order.
		"create index conversions_by_sale on conversions (programme_id, occurred_at_ms, id)",
		`create index conversions_by_basket on conversions (programme_id, (cast(replace(basket_value, '.', '') as bigint)), id)`,
		"create index conversions_tests on conversions (programme_id, id) where source = 'test'",
		...transactionNumber,
		`create table moves (
			${moveKey}, programme_id bigint not null, conversion_id bigint not null, move text not null, to_status text not null,
			decided_by text, person_id bigint, reason text, at_ms bigint not null, announced_body text)`,
		"create index moves_by_conversion on moves (conversion_id, id)",
		"create table feed_start (one integer primary key, at bigint not null, move_id bigint not null)",
	];
}

function orderBlockTables({ bytewiseText }: Dialect): readonly string[] {
	return [
		`create table order_blocks (
			programme_id bigint not null, first_id bigint not null, last_id bigint not null,
			ids text not null, orders ${bytewiseText} not null,
			primary key (programme_id, first_id))`,
		// For Review, which looks through those of all programmes, the newest first.
		"create index order_blocks_by_last on order_blocks (last_id)",
		"create table order_position (one integer primary key, conversion_id bigint not null)",
		"insert into order_position (one, conversion_id) values (1, 0)",
	];
}

function deliveryTables({
	selfNumberedId,
	givenId,
	clustered,
	rewritten,
	churned,
	inPartitions,
}: Dialect): readonly string[] {
	return [
		`create table events (
			id ${selfNumberedId}, programme_id bigint not null, receiver_id bigint not null,
			conversion_id bigint not null, name text not null, body text not null)`,
		"create unique index events_once_per_conversion on events (conversion_id, receiver_id, name)",
		`create table deliveries (
			id ${givenId}, public_id text not null unique, programme_id bigint not null,
			receiver_id bigint not null, state text not null,
			run integer not null, attempts integer not null,
			interrupted integer not null default 0, last_verdict text, last_http_status integer,
			created_at_ms bigint not null, last_attempt_at_ms bigint, finished_at_ms bigint,
			failed_at_ms bigint) ${rewritten}`,
		"create index deliveries_by_receiver on deliveries (receiver_id, id)",
		// On a column of its own: storing a success must not change anything that is indexed, or PostgreSQL
		// writes the row's entry into every index anew.
		`create index deliveries_failed on deliveries (receiver_id, failed_at_ms)
			where failed_at_ms is not null`,
		`create table queue (
			id ${givenId}, receiver_id bigint not null, due_at_ms bigint not null,
			endpoint_epoch integer not null, run integer not null, counted integer not null, seq integer not null) ${churned}`,
		"create index queue_by_due on queue (receiver_id, due_at_ms, id)",
		`create table cancellations (
			receiver_id ${givenId}, epoch integer not null, since_ms bigint not null, claim_until_ms bigint not null) ${churned}`,
		`create table attempts (
			delivery_id bigint not null, seq integer not null, programme_id bigint not null,
			run integer not null, result text not null,
			http_status integer, detail text, started_at_ms bigint not null, took_ms double precision,
			look_up_ms double precision, connect_ms double precision, tls_ms double precision,
			answer_ms double precision, endpoint_id bigint, nonce text, signature text, answer text,
			primary key (delivery_id, seq${inPartitions?.keyColumn("started_at_ms") ?? ""}))
			${inPartitions?.suffix("started_at_ms") ?? clustered}`,
		...(inPartitions?.rest("attempts", "started_at_ms") ?? []),
		`create table callback_hours (
			programme_id bigint not null, hour_ms bigint not null, delivered integer not null, failed integer not null,
			primary key (programme_id, hour_ms)) ${clustered}`,
		"create index callback_hours_by_hour on callback_hours (hour_ms)",
	];
}

function laneTables({ givenId, clustered, rewritten, churned }: Dialect): readonly string[] {
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

function noticeTables({ selfNumberedId, rewritten }: Dialect): readonly string[] {
	return [
		`create table notices (
			id ${selfNumberedId}, public_id text not null unique, receiver_id bigint not null, kind text not null,
			opened_at_ms bigint not null, told_at_ms bigint, ended_at_ms bigint, ended_by text,
			failed_attempts integer not null, failures integer not null, mailed_failures integer not null,
			last_failed_at_ms bigint, last_delivery_id bigint, last_result text, last_verdict text,
			last_http_status integer, last_detail text, mail_due_at_ms bigint,
			mailed_at_ms bigint, mailed_to text, mail_refused_to text) ${rewritten}`,
		// At most one open trouble per receiver, however many engines see it fail at once.
		`create unique index notices_open on notices (receiver_id)
			where kind = 'callbacks_failing' and ended_at_ms is null`,
		"create index notices_by_receiver on notices (receiver_id, id)",
		"create index notices_watched on notices (opened_at_ms) where told_at_ms is null",
		"create index notices_to_mail on notices (mail_due_at_ms) where mail_due_at_ms is not null",
	];
}

function inboundTables({ selfNumberedId, inPartitions }: Dialect): readonly string[] {
	const idColumn = inPartitions?.selfNumberedId("inbound_calls", "at_ms") ?? `id ${selfNumberedId}`;
	return [
		...(inPartitions?.before("inbound_calls") ?? []),
		`create table inbound_calls (
			${idColumn}, programme_id bigint, kind text not null, method text not null, target text not null,
			outcome text not null, http_status integer not null, detail text, order_id text, conversion text,
			at_ms bigint not null) ${inPartitions?.suffix("at_ms") ?? ""}`,
		"create index inbound_calls_by_programme on inbound_calls (programme_id, id)",
		// "Why is order 1234 not here?" must not read every call there ever was.
		`create index inbound_calls_by_order on inbound_calls (programme_id, order_id, id)
			where order_id is not null`,
		...(inPartitions?.rest("inbound_calls", "at_ms") ?? []),
	];
}

function listenerTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table listeners (
			programme_id bigint primary key references programmes(id), seen_at_ms bigint not null,
			closed_at_ms bigint)`,
		`create table local_answers (
			id ${selfNumberedId}, programme_id bigint not null references programmes(id), conversion text not null,
			event text not null, outcome text not null, http_status integer, code text, took_ms integer,
			at_ms bigint not null)`,
		"create index local_answers_by_programme on local_answers (programme_id, id)",
		"create index local_answers_by_conversion on local_answers (conversion, id)",
	];
}

function bulkTables({ selfNumberedId, clustered }: Dialect): readonly string[] {
	return [
		`create table bulk_jobs (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null, person_id bigint not null,
			decided_by text not null, source text not null, file_name text, list_query text, state text not null,
			row_count integer not null, done_rows integer not null, claim text, claim_until_ms bigint not null,
			created_at_ms bigint not null, applied_at_ms bigint, finished_at_ms bigint)`,
		"create index bulk_jobs_by_programme on bulk_jobs (programme_id, id)",
		"create index bulk_jobs_by_age on bulk_jobs (created_at_ms)",
		`create index bulk_jobs_to_do on bulk_jobs (claim_until_ms, id) where state in ('uploaded', 'applying')`,
		`create table bulk_rows (
			job_id bigint not null, seq integer not null, line integer not null,
			named_conversion text not null, order_id text not null, event_type text not null,
			decision text not null, reason text not null,
			verdict text, detail text, outcome text, conversion text,
			basket_value text, commission text, currency text, test integer,
			primary key (job_id, seq)) ${clustered}`,
		// Which rows are about the same conversion, without reading the others.
		"create index bulk_rows_by_conversion on bulk_rows (job_id, conversion) where conversion is not null",
	];
}

function importTables({ lastingId, clustered }: Dialect): readonly string[] {
	return [
		`create table import_jobs (
			id ${lastingId}, public_id text not null unique, kind text not null, file_name text not null,
			file_bytes bigint not null, person_id bigint not null, applied_by bigint, state text not null, invites integer not null,
			row_count integer not null, done_rows integer not null, done_batches integer not null,
			summary text, lines text not null, failure text, access_ended_at_ms bigint, claim text, claim_until_ms bigint not null,
			created_at_ms bigint not null, applied_at_ms bigint, finished_at_ms bigint)`,
		"create index import_jobs_to_do on import_jobs (claim_until_ms, id) where state in ('uploaded', 'applying')",
		`create table import_batches (
			job_id bigint not null, seq integer not null, lines text not null, verdicts text,
			primary key (job_id, seq)) ${clustered}`,
	];
}

function auditTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table audit_entries (
			id ${selfNumberedId}, at_ms bigint not null, person_id bigint, programme_id bigint,
			action text not null, subject text, detail text, address text)`,
		"create index audit_entries_by_programme on audit_entries (programme_id, id)",
		"create index audit_entries_by_person on audit_entries (person_id, id)",
		"create index audit_entries_by_action on audit_entries (action, id)",
		"create index audit_entries_by_time on audit_entries (at_ms, id)",
	];
}

function mailTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table mail_queue (
			id ${selfNumberedId}, to_address text not null, topic text, subject text not null, sealed_text text,
			created_at_ms bigint not null, due_at_ms bigint, tries integer not null default 0,
			good_until_ms bigint not null, sent_at_ms bigint, given_up_at_ms bigint, refusal text)`,
		"create index mail_queue_due on mail_queue (due_at_ms) where due_at_ms is not null",
		"create index mail_queue_by_topic on mail_queue (topic, created_at_ms)",
		"create index mail_queue_given_up on mail_queue (given_up_at_ms) where given_up_at_ms is not null",
		"create index mail_queue_by_age on mail_queue (created_at_ms)",
		`create table changes_to_tell (
			audit_entry_id bigint not null, topic text not null, person_id bigint, programme_id bigint,
			due_at_ms bigint not null, primary key (audit_entry_id, topic))`,
		"create index changes_to_tell_due on changes_to_tell (due_at_ms)",
		"create index changes_to_tell_by_topic on changes_to_tell (topic)",
	];
}

function choreTables({ clustered, rewritten }: Dialect): readonly string[] {
	return [
		`create table chores (
			name text primary key, since_ms bigint not null, last_success_ms bigint, working_at_ms bigint,
			last_failure_ms bigint, failures integer not null, error text) ${clustered} ${rewritten}`,
		"create table archive_duty (one integer primary key, until_ms bigint not null)",
	];
}

function processTables({ clustered, rewritten }: Dialect): readonly string[] {
	return [
		`create table processes (
			instance text primary key, host text not null, role text not null, version text not null,
			started_at_ms bigint not null, seen_at_ms bigint not null, in_hand integer, programmes_due integer,
			oldest_due_at_ms bigint, mail_failed_at_ms bigint, mail_error text) ${clustered} ${rewritten}`,
	];
}

function traceTables({ givenId, rewritten }: Dialect): readonly string[] {
	return [
		`create table traces (
			conversion_id ${givenId}, traceparent text not null, at_ms bigint not null) ${rewritten}`,
		"create index traces_by_age on traces (at_ms)",
	];
}
