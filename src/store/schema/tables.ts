// All tables as Kysely sees them, the same on SQLite and PostgreSQL: times are integer milliseconds, amounts and
// public ids are text, booleans are 0 or 1, and integer keys stay inside. `tables/` has a file for each aggregate.

import type { Kysely } from "kysely";
import type { AuditEntriesTable } from "../tables/audit.ts";
import type { BulkJobsTable, BulkRowsTable } from "../tables/bulk.ts";
import type { ChoresTable } from "../tables/chores.ts";
import type { ConversionsTable, MovesTable } from "../tables/conversions.ts";
import type {
	AttemptsTable,
	CallbackHoursTable,
	CancellationsTable,
	DeliveriesTable,
	EventsTable,
	QueueTable,
} from "../tables/deliveries.ts";
import type { DeliveryPauseTable, EnginesTable, SlotsTable } from "../tables/engines.ts";
import type { ImportBatchesTable, ImportJobsTable } from "../tables/imports.ts";
import type { InboundCallsTable } from "../tables/inbound.ts";
import type { ApiKeysTable, NoncesTable, SigningSecretsTable } from "../tables/keys.ts";
import type { LinkLockTable, LinksTable } from "../tables/links.ts";
import type { ListenersTable, LocalAnswersTable } from "../tables/listeners.ts";
import type { ChangesToTellTable, MailQueueTable } from "../tables/mails.ts";
import type { NetworkTable } from "../tables/network.ts";
import type { NoticesTable } from "../tables/notices.ts";
import type { OrderBlocksTable, OrderPositionTable } from "../tables/order-blocks.ts";
import type { PeopleTable } from "../tables/people.ts";
import type { ProcessesTable } from "../tables/processes.ts";
import type { EndpointsTable, ProgrammePeopleTable, ProgrammesTable } from "../tables/programmes.ts";
import type {
	AuthAccountsTable,
	AuthSessionsTable,
	AuthTwoFactorsTable,
	AuthUsersTable,
	AuthVerificationsTable,
	LimitCountsTable,
	SpentCodesTable,
} from "../tables/sign-in.ts";

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
	order_blocks: OrderBlocksTable;
	order_position: OrderPositionTable;
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
	bulk_jobs: BulkJobsTable;
	bulk_rows: BulkRowsTable;
	import_jobs: ImportJobsTable;
	import_batches: ImportBatchesTable;
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
