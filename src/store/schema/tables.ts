// All tables as Kysely sees them, the same on SQLite and PostgreSQL: times are integer milliseconds, amounts and
// public ids are text, booleans are 0 or 1, and integer keys stay inside. `tables/` has a file for each aggregate.

import type { Kysely } from "kysely";
import type { ConversionsTable, MovesTable, OrderSearchTable } from "../tables/conversions.ts";
import type {
	AttemptsTable,
	CallbackHoursTable,
	CancellationsTable,
	DeliveriesTable,
	EventsTable,
	QueueTable,
} from "../tables/deliveries.ts";
import type { InboundCallsTable, ListenersTable, LocalAnswersTable } from "../tables/inbound.ts";
import type { JobLinesTable, JobsTable } from "../tables/jobs.ts";
import type {
	ChoresTable,
	DeliveryPauseTable,
	EnginesTable,
	NetworkTable,
	ProcessesTable,
	SlotsTable,
} from "../tables/network.ts";
import type {
	AuditEntriesTable,
	ChangesToTellTable,
	MailQueueTable,
	NoticesTable,
} from "../tables/notices.ts";
import type {
	AuthAccountsTable,
	AuthSessionsTable,
	AuthTwoFactorsTable,
	AuthUsersTable,
	AuthVerificationsTable,
	LimitCountsTable,
	LinkLockTable,
	LinksTable,
	PeopleTable,
	SpentCodesTable,
} from "../tables/people.ts";
import type {
	ApiKeysTable,
	EndpointsTable,
	NoncesTable,
	ProgrammePeopleTable,
	ProgrammesTable,
	SigningSecretsTable,
} from "../tables/programmes.ts";

export interface Schema {
	network: NetworkTable;
	people: PeopleTable;
	programmes: ProgrammesTable;
	programme_people: ProgrammePeopleTable;
	endpoints: EndpointsTable;
	api_keys: ApiKeysTable;
	signing_secrets: SigningSecretsTable;
	nonces: NoncesTable;
	conversions: ConversionsTable;
	order_search: OrderSearchTable;
	/** What is not in `order_search` yet. */
	order_tail: OrderSearchTable;
	moves: MovesTable;
	events: EventsTable;
	deliveries: DeliveriesTable;
	queue: QueueTable;
	cancellations: CancellationsTable;
	engines: EnginesTable;
	slots: SlotsTable;
	delivery_pause: DeliveryPauseTable;
	attempts: AttemptsTable;
	notices: NoticesTable;
	inbound_calls: InboundCallsTable;
	listeners: ListenersTable;
	local_answers: LocalAnswersTable;
	auth_users: AuthUsersTable;
	auth_accounts: AuthAccountsTable;
	auth_sessions: AuthSessionsTable;
	auth_two_factors: AuthTwoFactorsTable;
	auth_verifications: AuthVerificationsTable;
	links: LinksTable;
	link_lock: LinkLockTable;
	limit_counts: LimitCountsTable;
	spent_codes: SpentCodesTable;
	audit_entries: AuditEntriesTable;
	mail_queue: MailQueueTable;
	changes_to_tell: ChangesToTellTable;
	jobs: JobsTable;
	job_lines: JobLinesTable;
	callback_hours: CallbackHoursTable;
	chores: ChoresTable;
	processes: ProcessesTable;
	schema_versions: SchemaVersionsTable;
}

/** A query runner: the store's own, or a transaction's. */
export type Db = Kysely<Schema>;

export interface SchemaVersionsTable {
	version: number;
	name: string;
	/** The oldest program version that can still work with this schema. */
	oldest_program: number;
	applied_at_ms: number;
}
