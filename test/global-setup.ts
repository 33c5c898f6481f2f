// Set-up of the whole test run (`node --test --test-global-setup=test/global-setup.ts`). All processes share one
// PostgreSQL, one folder, one compile cache, template databases, the rendered documents, the packed library, and one list of what could not be
// tested. They find most of these through environment variables.

import { join } from "node:path";
import { writeRenderedPages } from "../docs/rendered-pages.ts";
import { COMPILE_CACHE } from "./support/compile-cache.ts";
import { closeNotRunFile, openNotRunFile } from "./support/not-run.ts";
import { bindPackages } from "./support/packages-in-one.ts";
import { packIfChanged } from "./support/packed-package.ts";
import {
	closeDatabase,
	createDatabase,
	POSTGRES_URL_VARIABLE,
	type PostgresServer,
	startPostgres,
} from "./support/postgres.ts";
import { makeFolder, openRunFolder } from "./support/run-folder.ts";
import { MIGRATED_FILE_VARIABLE } from "./support/sqlite-database.ts";
import { MIGRATED_NAME_VARIABLE, migrateEmpty } from "./support/test-database.ts";

const MIGRATED_NAME = "ringback_migrated";

let server: PostgresServer | undefined;
let removeFolder: (() => void) | undefined;

export async function globalSetup(): Promise<void> {
	process.env["NODE_COMPILE_CACHE"] ??= COMPILE_CACHE;
	await bindPackages();
	// What `npm ci` made may be older than the sources.
	writeRenderedPages();
	packIfChanged();
	openNotRunFile();
	removeFolder = openRunFolder();
	// These tests do not include a power cut. Tests that do start their own server.
	server = await startPostgres({ settings: { fsync: "off" } });
	process.env[POSTGRES_URL_VARIABLE] = server.url();
	await makeMigratedTemplates(server.url());
}

export async function globalTeardown(): Promise<void> {
	await server?.stop();
	removeFolder?.();
	for (const reason of closeNotRunFile()) console.error(`NOT TESTED on this machine: ${reason}`);
}

/**
 * Creates databases with the current schema and no rows for suites to copy. They are removed with the run's folder
 * and the server.
 */
async function makeMigratedTemplates(adminUrl: string): Promise<void> {
	const file = join(makeFolder("migrated"), "ringback.db");
	await migrateEmpty("SQLite", file);
	process.env[MIGRATED_FILE_VARIABLE] = file;
	await migrateEmpty("PostgreSQL", await createDatabase(adminUrl, MIGRATED_NAME));
	await closeDatabase(adminUrl, MIGRATED_NAME);
	process.env[MIGRATED_NAME_VARIABLE] = MIGRATED_NAME;
}
