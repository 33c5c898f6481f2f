// What the whole run shares: `node --test --test-global-setup=test/global-setup.ts`. One PostgreSQL, one folder, one
// store of compiled sources, databases to copy, one list of what could not be tested; test processes inherit where they
// are by the environment.

import { COMPILE_CACHE } from "./support/compile-cache.ts";
import { makeMigratedTemplates } from "./support/migrated-templates.ts";
import { nameFailedGroups } from "./support/name-failed-groups.ts";
import { closeNotRunFile, openNotRunFile } from "./support/not-run.ts";
import { bindPackages } from "./support/packages-in-one.ts";
import { POSTGRES_URL_VARIABLE, type PostgresServer, startPostgres } from "./support/postgres.ts";
import { openRunFolder } from "./support/run-folder.ts";

let server: PostgresServer | undefined;
let removeFolder: (() => void) | undefined;

export async function globalSetup(): Promise<void> {
	nameFailedGroups();
	process.env["NODE_COMPILE_CACHE"] ??= COMPILE_CACHE;
	await bindPackages();
	openNotRunFile();
	removeFolder = openRunFolder();
	// What these tests prove does not include a power cut; those that do start a server of their own.
	server = await startPostgres({ settings: { fsync: "off" } });
	process.env[POSTGRES_URL_VARIABLE] = server.url();
	await makeMigratedTemplates(server.url());
}

export async function globalTeardown(): Promise<void> {
	await server?.stop();
	removeFolder?.();
	for (const reason of closeNotRunFile()) console.error(`NOT TESTED on this machine: ${reason}`);
}
