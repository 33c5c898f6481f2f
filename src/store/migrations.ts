// Forward-only migrations, in SQL that both databases read. A migration is never edited once released:
// the next change is the next entry.

/** What must be spelled differently when tables are made. */
export interface Dialect {
	/** An integer key that numbers itself. */
	selfNumberedId: string;
	/** An integer key that is given: a delivery has its event's. */
	givenId: string;
	/** Put behind a table whose only way in is its primary key: one tree instead of two. */
	clustered: string;
	/** Put behind a table whose rows are rewritten in place: leaves room on their page for it. */
	rewritten: string;
	/** A moment and a truth value as better-auth writes them; our own tables have integers for both. */
	timestamp: string;
	boolean: string;
	/** Lets a text column compare byte by byte, so that what starts alike lies together in its indexes. */
	compareBytes(table: string, column: string): readonly string[];
}

export interface Migration {
	name: string;
	/** True when a program that does not know this migration must not run on the schema it leaves. */
	isBreaking: boolean;
	statements(dialect: Dialect): readonly string[];
}

/** The position in this list, counted from one, is the schema's version. */
export const MIGRATIONS: readonly Migration[] = [
	{ name: "people and programmes", isBreaking: true, statements: peopleAndProgrammes },
	{ name: "conversions", isBreaking: true, statements: conversions },
	{ name: "events, deliveries and attempts", isBreaking: true, statements: deliveries },
	{ name: "notices and the inbound log", isBreaking: true, statements: noticesAndInbound },
	{ name: "sign-in", isBreaking: false, statements: signIn },
	{ name: "invitations and the audit log", isBreaking: false, statements: invitationsAndAudit },
	{ name: "lists and bulk decisions", isBreaking: false, statements: listsAndBulkDecisions },
	{
		name: "who was mailed a notice, and who is no longer staff",
		isBreaking: false,
		statements: mailedAndLeft,
	},
	{ name: "callback hours and orders of the inbound log", isBreaking: false, statements: callbackHours },
	{ name: "owners' invitations and limits", isBreaking: false, statements: ownerInvitationsAndLimits },
	{ name: "windows found without statistics", isBreaking: false, statements: windowIndex },
	{ name: "orders of all programmes", isBreaking: false, statements: orderIndex },
	{ name: "first times, tests and usable keys", isBreaking: false, statements: firstTimes },
];

function peopleAndProgrammes({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table people (
			id ${selfNumberedId}, public_id text not null unique, email text not null unique,
			role text not null, created_at_ms bigint not null)`,
		`create table programmes (
			id ${selfNumberedId}, public_id text not null unique, name text not null, currency text not null,
			commission_rate text not null, fee_rate text not null, approval_days integer not null,
			parks_pixels integer not null, parked_days integer not null,
			endpoint_id bigint, endpoint_epoch integer not null default 0,
			last_mailed_at_ms bigint, created_at_ms bigint not null)`,
		`create table programme_owners (
			programme_id bigint not null references programmes(id), person_id bigint not null references people(id),
			primary key (programme_id, person_id))`,
		"create index programme_owners_by_person on programme_owners (person_id)",
		`create table endpoints (
			id ${selfNumberedId}, programme_id bigint not null references programmes(id),
			url text not null, saved_at_ms bigint not null)`,
		`create table api_keys (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null references programmes(id),
			hash text not null unique, hint text not null, created_at_ms bigint not null, revoked_at_ms bigint)`,
		"create index api_keys_by_programme on api_keys (programme_id)",
		`create table signing_secrets (
			id ${selfNumberedId}, programme_id bigint not null references programmes(id),
			sealed text not null, created_at_ms bigint not null, replaced_at_ms bigint)`,
		// At most one secret of a programme is the present one, whoever else is replacing it just now.
		"create unique index signing_secrets_present on signing_secrets (programme_id) where replaced_at_ms is null",
		"create index signing_secrets_by_programme on signing_secrets (programme_id, replaced_at_ms)",
	];
}

// From here on no foreign keys: on PostgreSQL each costs a lock on the programme's row for every sale, and
// rows are only ever written by use cases that have just read what they point to.
function conversions({ selfNumberedId, clustered }: Dialect): readonly string[] {
	return [
		`create table nonces (
			programme_id bigint not null, nonce text not null, expires_at_ms bigint not null,
			primary key (programme_id, nonce)) ${clustered}`,
		"create index nonces_by_expiry on nonces (expires_at_ms)",
		`create table conversions (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null,
			order_id text not null, event_type text not null, status text not null,
			basket_value text not null, commission text not null, network_fee text not null, currency text not null,
			reason text, test integer not null, source text not null, pixel_basket_value text, decided_by text,
			occurred_at_ms bigint not null, created_at_ms bigint not null, window_ends_at_ms bigint,
			updated_at_ms bigint not null)`,
		"create unique index conversions_by_order on conversions (programme_id, order_id, event_type)",
		"create index conversions_by_programme on conversions (programme_id, id)",
		`create index conversions_to_approve on conversions (window_ends_at_ms, id)
			where status = 'RECORDED' and window_ends_at_ms is not null`,
		`create index conversions_to_expire on conversions (window_ends_at_ms, id)
			where status = 'PARKED' and window_ends_at_ms is not null`,
		`create table moves (
			id ${selfNumberedId}, conversion_id bigint not null, move text not null, to_status text not null,
			decided_by text, person_id bigint, reason text, at_ms bigint not null)`,
		"create index moves_by_conversion on moves (conversion_id, id)",
	];
}

function deliveries({ selfNumberedId, givenId, clustered, rewritten }: Dialect): readonly string[] {
	return [
		`create table events (
			id ${selfNumberedId}, conversion_id bigint not null, name text not null, body text not null)`,
		"create unique index events_once_per_conversion on events (conversion_id, name)",
		`create table deliveries (
			id ${givenId}, public_id text not null unique, programme_id bigint not null, state text not null,
			run integer not null, attempts integer not null, last_verdict text, last_http_status integer,
			created_at_ms bigint not null, last_attempt_at_ms bigint, finished_at_ms bigint,
			failed_at_ms bigint) ${rewritten}`,
		"create index deliveries_by_programme on deliveries (programme_id, id)",
		// On a column of its own: storing a success must not change anything that is indexed, or PostgreSQL
		// writes the row's entry into every index anew.
		`create index deliveries_failed on deliveries (programme_id, failed_at_ms)
			where failed_at_ms is not null`,
		`create table queue (
			id ${givenId}, programme_id bigint not null, due_at_ms bigint not null, claim bigint,
			endpoint_epoch integer not null, run integer not null, counted integer not null, seq integer not null)`,
		"create index queue_by_due on queue (programme_id, due_at_ms)",
		`create table attempts (
			delivery_id bigint not null, seq integer not null, run integer not null, result text not null,
			http_status integer, detail text, started_at_ms bigint not null, took_ms double precision,
			look_up_ms double precision, connect_ms double precision, tls_ms double precision,
			answer_ms double precision, endpoint_id bigint, nonce text, signature text,
			primary key (delivery_id, seq)) ${clustered}`,
	];
}

function noticesAndInbound({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table notices (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null, kind text not null,
			opened_at_ms bigint not null, updated_at_ms bigint not null, ended_at_ms bigint,
			failures integer not null, mailed_failures integer not null,
			last_delivery_id bigint, last_verdict text, last_http_status integer, mail_due_at_ms bigint)`,
		// At most one open trouble per programme, however many engines see it fail at once.
		`create unique index notices_open on notices (programme_id)
			where kind = 'callbacks_failing' and ended_at_ms is null`,
		"create index notices_by_programme on notices (programme_id, id)",
		"create index notices_to_mail on notices (mail_due_at_ms) where mail_due_at_ms is not null",
		`create table inbound_calls (
			id ${selfNumberedId}, programme_id bigint, kind text not null, method text not null, target text not null,
			outcome text not null, http_status integer not null, detail text, order_id text, conversion_id bigint,
			at_ms bigint not null)`,
		"create index inbound_calls_by_programme on inbound_calls (programme_id, id)",
	];
}

/** Tables and columns as better-auth wants them, hence the camel case: test/contract/store-auth-tables holds them to it. */
function signIn({ timestamp, boolean }: Dialect): readonly string[] {
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
		`create table auth_two_factors (
			"id" text primary key, "secret" text not null, "backupCodes" text not null,
			"userId" text not null references auth_users ("id") on delete cascade,
			"verified" ${boolean}, "failedVerificationCount" integer, "lockedUntil" ${timestamp})`,
		'create index auth_two_factors_by_user on auth_two_factors ("userId")',
		`create table auth_rate_limits (
			"id" text primary key, "key" text not null unique, "count" integer not null, "lastRequest" bigint not null)`,
	];
}

function invitationsAndAudit({ selfNumberedId, clustered }: Dialect): readonly string[] {
	return [
		"alter table people add column name text not null default ''",
		`create table invitations (
			id ${selfNumberedId}, token_hash text not null unique, person_id bigint, made_by bigint,
			created_at_ms bigint not null, expires_at_ms bigint not null)`,
		"create index invitations_by_person on invitations (person_id)",
		`create table spent_codes (
			person_id bigint not null, code_hash text not null, expires_at_ms bigint not null,
			primary key (person_id, code_hash)) ${clustered}`,
		`create table audit_entries (
			id ${selfNumberedId}, at_ms bigint not null, person_id bigint, programme_id bigint,
			action text not null, subject text, detail text)`,
		"create index audit_entries_by_programme on audit_entries (programme_id, id)",
		"create index audit_entries_by_person on audit_entries (person_id, id)",
	];
}

function mailedAndLeft(): readonly string[] {
	return [
		"alter table notices add column mailed_at_ms bigint",
		"alter table notices add column mailed_to text",
		"alter table people add column deactivated_at_ms bigint",
		"create index people_by_role on people (role, id)",
	];
}

function listsAndBulkDecisions({ selfNumberedId, clustered, compareBytes }: Dialect): readonly string[] {
	return [
		// An order is looked for by how its id starts.
		...compareBytes("conversions", "order_id"),
		// A filtered list is the merge of the buckets that its filter names: see store/conversion-list.
		"create index conversions_by_bucket on conversions (programme_id, status, event_type, test, id)",
		"create index conversions_by_status on conversions (status, id)",
		`create table bulk_jobs (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null, person_id bigint not null,
			decided_by text not null, source text not null, file_name text, state text not null,
			row_count integer not null, done_rows integer not null, claim text, claim_until_ms bigint not null,
			created_at_ms bigint not null, applied_at_ms bigint, finished_at_ms bigint)`,
		"create index bulk_jobs_by_programme on bulk_jobs (programme_id, id)",
		"create index bulk_jobs_by_age on bulk_jobs (created_at_ms)",
		`create index bulk_jobs_to_do on bulk_jobs (claim_until_ms, id) where state in ('uploaded', 'applying')`,
		`create table bulk_rows (
			job_id bigint not null, seq integer not null, line integer not null,
			order_id text not null, event_type text not null, decision text not null, reason text not null,
			verdict text, detail text, outcome text, conversion text,
			primary key (job_id, seq)) ${clustered}`,
	];
}

function callbackHours({ clustered }: Dialect): readonly string[] {
	return [
		`create table callback_hours (
			programme_id bigint not null, hour_ms bigint not null, delivered integer not null, failed integer not null,
			primary key (programme_id, hour_ms)) ${clustered}`,
		"create index callback_hours_by_hour on callback_hours (hour_ms)",
		// "Why is order 1234 not here?" must not read every call there ever was.
		`create index inbound_calls_by_order on inbound_calls (programme_id, order_id, id)
			where order_id is not null`,
	];
}

function ownerInvitationsAndLimits({ selfNumberedId, clustered }: Dialect): readonly string[] {
	return [
		// Named by the address alone: whether anybody has it is not the inviting owner's business.
		`create table owner_invitations (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null, email text not null,
			token_hash text not null unique, made_by bigint not null, created_at_ms bigint not null,
			expires_at_ms bigint not null)`,
		"create unique index owner_invitations_by_email on owner_invitations (programme_id, email)",
		`create table limit_counts (
			subject text primary key, uses integer not null, ends_at_ms bigint not null) ${clustered}`,
		"alter table api_keys add column last_used_at_ms bigint",
	];
}

/** SQLite, which nobody analyses, took conversions_by_status for the windows instead and read all that are open. */
function windowIndex(): readonly string[] {
	return [
		`create index conversions_by_window on conversions (status, window_ends_at_ms)
			where window_ends_at_ms is not null`,
		"drop index conversions_to_approve",
		"drop index conversions_to_expire",
	];
}

/**
 * Review looks for an order without knowing the shop. The condition holds for every row, and only Review's question
 * says it: PostgreSQL would otherwise look for one shop's order here too, among those of all shops.
 */
function orderIndex(): readonly string[] {
	return ["create index conversions_by_any_order on conversions (order_id, id) where id > 0"];
}

/** What has worked before this migration counts: found at the first row that shows it. */
function firstTimes(): readonly string[] {
	const firstOf = (moment: string, table: string, condition: string) =>
		`(select ${moment} from ${table} where programme_id = programmes.id and ${condition} order by id limit 1)`;
	return [
		...["signed", "pixel", "callback"].map(
			(what) => `alter table programmes add column first_${what}_at_ms bigint`,
		),
		`update programmes set
			first_signed_at_ms = ${firstOf("at_ms", "inbound_calls", "kind = 'api' and http_status < 300")},
			first_pixel_at_ms = ${firstOf("created_at_ms", "conversions", "source = 'pixel' and status not in ('PARKED', 'EXPIRED')")},
			first_callback_at_ms = ${firstOf("finished_at_ms", "deliveries", "state = 'delivered'")}`,
		"create index conversions_tests on conversions (programme_id, id) where source = 'test'",
		"create index api_keys_usable on api_keys (programme_id) where revoked_at_ms is null",
	];
}
