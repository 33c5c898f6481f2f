// The tables as Kysely sees them, the same on SQLite and PostgreSQL: times are integer milliseconds,
// amounts and public ids are text, booleans are 0 or 1, and integer keys stay inside.

import type { Generated, Kysely } from "kysely";
import type { DecidedBy, EventType, Move, Reason, Source, Status } from "../domain/conversion.ts";
import type { DeliveryState } from "../domain/delivery.ts";
import type { EventName } from "../domain/event-name.ts";
import type { FaultCode } from "../domain/fault.ts";
import type { NoticeKind } from "../domain/notice.ts";
import type { Verdict } from "../domain/verdict.ts";
import type { BulkJobsTable, BulkRowsTable } from "./bulk-tables.ts";
import type {
	AuditEntriesTable,
	AuthAccountsTable,
	AuthSessionsTable,
	AuthUsersTable,
	AuthVerificationsTable,
	InvitationsTable,
	LimitCountsTable,
	OwnerInvitationsTable,
	SpentCodesTable,
} from "./sign-in-schema.ts";

export interface Schema {
	people: PeopleTable;
	programmes: ProgrammesTable;
	programme_owners: ProgrammeOwnersTable;
	endpoints: EndpointsTable;
	api_keys: ApiKeysTable;
	signing_secrets: SigningSecretsTable;
	nonces: NoncesTable;
	conversions: ConversionsTable;
	moves: MovesTable;
	events: EventsTable;
	deliveries: DeliveriesTable;
	queue: QueueTable;
	attempts: AttemptsTable;
	notices: NoticesTable;
	inbound_calls: InboundCallsTable;
	auth_users: AuthUsersTable;
	auth_accounts: AuthAccountsTable;
	auth_sessions: AuthSessionsTable;
	auth_verifications: AuthVerificationsTable;
	invitations: InvitationsTable;
	owner_invitations: OwnerInvitationsTable;
	limit_counts: LimitCountsTable;
	spent_codes: SpentCodesTable;
	audit_entries: AuditEntriesTable;
	bulk_jobs: BulkJobsTable;
	bulk_rows: BulkRowsTable;
	callback_hours: CallbackHoursTable;
	schema_versions: SchemaVersionsTable;
}

/** A query runner: the store's own, or a transaction's. */
export type Db = Kysely<Schema>;

export type Role = "owner" | "staff";

export interface PeopleTable {
	id: Generated<number>;
	public_id: string;
	/** Lower case; unique. */
	email: string;
	role: Role;
	created_at_ms: number;
	/** Empty until they have accepted their invitation. */
	name: Generated<string>;
	/** Set when they may no longer sign in. */
	deactivated_at_ms: number | null;
}

export interface ProgrammesTable {
	id: Generated<number>;
	public_id: string;
	name: string;
	currency: string;
	/** Percentages with four decimals, as text: see domain/money. */
	commission_rate: string;
	fee_rate: string;
	approval_days: number;
	parks_pixels: 0 | 1;
	parked_days: number;
	/** The Postback URL saved now. */
	endpoint_id: number | null;
	/** Goes up when the URL is removed: a delivery of an older epoch is cancelled for good. */
	endpoint_epoch: Generated<number>;
	last_mailed_at_ms: number | null;
	created_at_ms: number;
	/** Each written once: see store/first-times. */
	first_signed_at_ms: number | null;
	first_pixel_at_ms: number | null;
	first_callback_at_ms: number | null;
}

export interface ProgrammeOwnersTable {
	programme_id: number;
	person_id: number;
}

/** Every Postback URL ever saved, so that an old attempt still shows where it went. */
export interface EndpointsTable {
	id: Generated<number>;
	programme_id: number;
	url: string;
	saved_at_ms: number;
}

export interface ApiKeysTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	/** SHA-256 of the key; the key itself is shown once and not kept. */
	hash: string;
	/** Its last characters, so that people can tell keys apart. */
	hint: string;
	created_at_ms: number;
	revoked_at_ms: number | null;
	/** To the hour: a key in use must not cost a write for every request. */
	last_used_at_ms: number | null;
}

export interface SigningSecretsTable {
	id: Generated<number>;
	programme_id: number;
	/** AES-256-GCM: see domain/sealing. */
	sealed: string;
	created_at_ms: number;
	/** Set when a newer one took its place; still good for inbound requests for a while. */
	replaced_at_ms: number | null;
}

export interface NoncesTable {
	programme_id: number;
	nonce: string;
	expires_at_ms: number;
}

export interface ConversionsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	order_id: string;
	event_type: EventType;
	status: Status;
	basket_value: string;
	commission: string;
	network_fee: string;
	currency: string;
	reason: Reason | null;
	test: 0 | 1;
	source: Source;
	/** What the pixel claimed, kept when the server's amount replaced it. */
	pixel_basket_value: string | null;
	decided_by: DecidedBy | null;
	occurred_at_ms: number;
	created_at_ms: number;
	/** When the approval window ends (RECORDED) or the wait for confirmation does (PARKED); null otherwise. */
	window_ends_at_ms: number | null;
	updated_at_ms: number;
}

/** One row a move: the conversion's history. */
export interface MovesTable {
	id: Generated<number>;
	conversion_id: number;
	move: Move | "record" | "park";
	to_status: Status;
	decided_by: DecidedBy | null;
	person_id: number | null;
	reason: Reason | null;
	at_ms: number;
}

/** An event that is owed to a shop: immutable, and at most one of each name per conversion. */
export interface EventsTable {
	id: Generated<number>;
	conversion_id: number;
	name: EventName;
	/** All fields but sentAt: see domain/event. */
	body: string;
}

/** The sending of an event; shares its id. Narrow, because every attempt rewrites it. */
export interface DeliveriesTable {
	id: number;
	public_id: string;
	programme_id: number;
	state: DeliveryState;
	/** 1 for the first sending, one more for each resend by hand. */
	run: number;
	/** Rows in `attempts`, interrupted ones included. */
	attempts: number;
	last_verdict: Verdict | null;
	last_http_status: number | null;
	created_at_ms: number;
	last_attempt_at_ms: number | null;
	finished_at_ms: number | null;
	/** The same, for those that ended as failed. */
	failed_at_ms: number | null;
}

/**
 * What is still to be sent: small rows apart from the cold record, so that a claim touches few pages.
 * `due_at_ms` is when somebody may take the row next: a claim moves it to the moment the claim lapses.
 */
export interface QueueTable {
	id: number;
	programme_id: number;
	due_at_ms: number;
	claim: number | null;
	endpoint_epoch: number;
	run: number;
	/** Counted attempts of this run. */
	counted: number;
	/** The number of the last row in `attempts`. */
	seq: number;
}

export type AttemptResult = "answered" | "timeout" | "network-error" | "forbidden-address" | "interrupted";

export interface AttemptsTable {
	delivery_id: number;
	seq: number;
	run: number;
	result: AttemptResult;
	http_status: number | null;
	/** The error in the system's words, or why the address was refused. */
	detail: string | null;
	started_at_ms: number;
	took_ms: number | null;
	look_up_ms: number | null;
	connect_ms: number | null;
	tls_ms: number | null;
	answer_ms: number | null;
	endpoint_id: number | null;
	nonce: string | null;
	signature: string | null;
}

export interface NoticesTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	kind: NoticeKind;
	opened_at_ms: number;
	updated_at_ms: number;
	/** Set when callbacks worked again. */
	ended_at_ms: number | null;
	failures: number;
	/** How many of the failures have been told by mail. */
	mailed_failures: number;
	last_delivery_id: number | null;
	last_verdict: Verdict | null;
	last_http_status: number | null;
	/** When the owners are to be mailed next; null when there is nothing to tell. */
	mail_due_at_ms: number | null;
	/** The last mail that told of it, and the addresses it went to. */
	mailed_at_ms: number | null;
	mailed_to: string | null;
}

export type InboundKind = "api" | "pixel";

/** Every call that came in, the refused ones too. */
export interface InboundCallsTable {
	id: Generated<number>;
	programme_id: number | null;
	kind: InboundKind;
	method: string;
	target: string;
	/** The outcome word of an accepted call, or the fault's code. */
	outcome: string | FaultCode;
	http_status: number;
	detail: string | null;
	order_id: string | null;
	conversion_id: number | null;
	at_ms: number;
}

/** Attempts by the hour, written once for every batch of results: counting two million rows takes too long. */
export interface CallbackHoursTable {
	programme_id: number;
	/** The hour's beginning. */
	hour_ms: number;
	/** Answered 2xx. */
	delivered: number;
	/** Everything else that was sent. */
	failed: number;
}

export interface SchemaVersionsTable {
	version: number;
	name: string;
	/** The oldest program version that can still work with this schema. */
	oldest_program: number;
	applied_at_ms: number;
}
