// One PostgreSQL for the whole run: `node --test --test-global-setup=test/global-setup.ts`. Test processes
// inherit its address through the environment.

import { closeNotRunFile, openNotRunFile } from "./support/not-run.ts";
import { POSTGRES_URL_VARIABLE, type PostgresServer, startPostgres } from "./support/postgres.ts";

let server: PostgresServer | undefined;

export async function globalSetup(): Promise<void> {
	openNotRunFile();
	// What these tests prove does not include a power cut; those that do start a server of their own.
	server = await startPostgres({ settings: { fsync: "off" } });
	process.env[POSTGRES_URL_VARIABLE] = server.url();
}

export async function globalTeardown(): Promise<void> {
	await server?.stop();
	for (const reason of closeNotRunFile()) console.error(`NOT TESTED on this machine: ${reason}`);
}
