// What a whole run makes once: a database of either kind with this program's schema and nothing in it, for suites to
// copy. Test processes inherit where they are by the environment.

import { join } from "node:path";
import { closeDatabase, createDatabase } from "./postgres-admin.ts";
import { makeFolder } from "./run-folder.ts";
import { MIGRATED_FILE_VARIABLE } from "./sqlite-database.ts";
import { MIGRATED_NAME_VARIABLE, migrateEmpty } from "./test-database.ts";

const NAME = "ringback_migrated";

/** They go with the run's folder, and with the server. */
export async function makeMigratedTemplates(adminUrl: string): Promise<void> {
	const file = join(makeFolder("migrated"), "ringback.db");
	await migrateEmpty("SQLite", file);
	process.env[MIGRATED_FILE_VARIABLE] = file;
	await migrateEmpty("PostgreSQL", await createDatabase(adminUrl, NAME));
	await closeDatabase(adminUrl, NAME);
	process.env[MIGRATED_NAME_VARIABLE] = NAME;
}
