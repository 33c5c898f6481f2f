// Types of all tables, which are the same on SQLite and PostgreSQL. Times are integer milliseconds, amounts and
// public ids are text, booleans are 0 or 1, and integer keys are never shown outside. `tables/` has a file for each
// subject. A module adds its tables to Schema in a file of its own.

import { type Kysely, SqliteAdapter } from "kysely";
import type * as apiTokens from "../tables/api-tokens.ts";
import type * as conversions from "../tables/conversions.ts";
import type * as deliveries from "../tables/deliveries.ts";
import type * as inbound from "../tables/inbound.ts";
import type * as network from "../tables/network.ts";
import type * as notices from "../tables/notices.ts";
import type * as partners from "../tables/partners.ts";
import type * as people from "../tables/people.ts";
import type * as programmes from "../tables/programmes.ts";
import type * as receivers from "../tables/receivers.ts";
import type * as sealing from "../tables/sealing.ts";

export interface Schema {
	network: network.NetworkTable;
	people: people.PeopleTable;
	partners: partners.PartnersTable;
	partner_people: partners.PartnerPeopleTable;
	programmes: programmes.ProgrammesTable;
	programme_people: programmes.ProgrammePeopleTable;
	receivers: receivers.ReceiversTable;
	endpoints: receivers.EndpointsTable;
	api_keys: programmes.ApiKeysTable;
	signing_secrets: receivers.SigningSecretsTable;
	nonces: programmes.NoncesTable;
	conversions: conversions.ConversionsTable;
	order_search: conversions.OrderSearchTable;
	/** Order ids that are not yet in the index of `order_search`. */
	order_tail: conversions.OrderSearchTable;
	recording_breaks: conversions.RecordingBreaksTable;
	moves: conversions.MovesTable;
	events: deliveries.EventsTable;
	deliveries: deliveries.DeliveriesView;
	queue: deliveries.QueueTable;
	undelivered: deliveries.UndeliveredTable;
	engines: network.EnginesTable;
	slots: network.SlotsTable;
	delivery_pause: network.DeliveryPauseTable;
	attempts: deliveries.AttemptsTable;
	notices: notices.NoticesTable;
	inbound_calls: inbound.InboundCallsTable;
	listeners: inbound.ListenersTable;
	local_answers: inbound.LocalAnswersTable;
	passwords: people.PasswordsTable;
	sessions: people.SessionsTable;
	sign_in_challenges: people.SignInChallengesTable;
	api_tokens: apiTokens.ApiTokensTable;
	authenticators: people.AuthenticatorsTable;
	sign_in_links: people.SignInLinksTable;
	access_lock: people.AccessLockTable;
	limit_counts: people.LimitCountsTable;
	spent_codes: people.SpentCodesTable;
	audit_entries: notices.AuditEntriesTable;
	mail_queue: notices.MailQueueTable;
	changes_to_tell: notices.ChangesToTellTable;
	callback_quarters: deliveries.CallbackQuartersTable;
	chores: network.ChoresTable;
	processes: network.ProcessesTable;
	restores: network.RestoresTable;
	programme_rates: programmes.ProgrammeRatesTable;
	sealing_key: sealing.SealingKeyTable;
	kept_keys: sealing.KeptKeysTable;
	schema_versions: SchemaVersionsTable;
}

/** Runs queries, either on the store's connections or in a transaction. */
export type Db = Kysely<Schema>;

/** Returns whether the database is SQLite, for a query that needs a different form on each database. */
export function isSqlite(db: Db): boolean {
	return db.getExecutor().adapter instanceof SqliteAdapter;
}

export interface SchemaVersionsTable {
	version: number;
	name: string;
	/** Lowest schema version that a program must know to work with this schema. */
	oldest_program: number;
	applied_at_ms: number;
}
