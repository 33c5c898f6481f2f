// Lets a test control the clock of its database, on which leases depend. On PostgreSQL the test creates a function
// `clock_timestamp()` that takes precedence over the server's. SQLite has no clock, so the time is passed to it.

import { sql } from "kysely";
import { DAY_MS } from "#core/domain/time.ts";
import { START_MS } from "./clock.ts";
import type { SuiteDatabase } from "./databases.ts";
import { openStore } from "./test-database.ts";

export interface DatabaseClock {
	/**
	 * Sets the clock. Resolves to the time that a process should report. On PostgreSQL that is a nonsense
	 * value, because nothing may depend on it.
	 */
	set(atMs: number): Promise<number>;
}

/**
 * Takes control of the clock. The test must call this before the suite's stores connect, because a connection finds
 * the function only if it existed when the connection was opened.
 */
export async function takeDatabaseClock({
	kind,
	location,
	store,
}: Pick<SuiteDatabase, "kind" | "location" | "store">): Promise<DatabaseClock> {
	if (kind === "SQLite") return { set: async (atMs) => atMs };
	const maker = openStore(kind, location);
	try {
		for (const statement of MAKE_CLOCK) await sql.raw(statement).execute(maker.db);
	} finally {
		await maker.close();
	}
	return {
		async set(atMs) {
			await sql`update test_clock.present set at_ms = ${atMs}`.execute(store.db);
			return atMs + 31 * DAY_MS;
		},
	};
}

const MAKE_CLOCK: readonly string[] = [
	"create schema test_clock",
	`create table test_clock.present as select ${START_MS}::bigint as at_ms`,
	`create function test_clock.clock_timestamp() returns timestamptz language sql volatile
		as 'select to_timestamp(at_ms / 1000.0) from test_clock.present'`,
	`do $$ begin execute format(
		'alter database %I set search_path = public, test_clock, pg_catalog', current_database()); end $$`,
];
