// A database of one's own on the PostgreSQL of the test run, or on one that is started where there is none.

import { randomBytes } from "node:crypto";
import {
	POSTGRES_URL_VARIABLE,
	type PostgresOptions,
	type PostgresServer,
	startPostgres,
} from "./postgres.ts";
import { createDatabase, dropDatabase } from "./postgres-admin.ts";

export type PostgresAtHand = ReturnType<typeof createPostgresAtHand>;

export interface PostgresDatabase {
	url: string;
	/** Fails when anybody is still connected. */
	drop(): Promise<void>;
}

/** `options` are for a server of one's own, which is started with the first database. */
export function createPostgresAtHand(options: PostgresOptions = {}) {
	let ownServer: Promise<PostgresServer> | undefined;
	async function serverUrl(): Promise<string> {
		const shared = process.env[POSTGRES_URL_VARIABLE];
		if (shared !== undefined) return shared;
		ownServer ??= startPostgres(options);
		return (await ownServer).url();
	}
	return {
		/** Empty, or a copy of a template on the server of the test run. */
		async createDatabase(template?: string) {
			const adminUrl = await serverUrl();
			const name = `ringback_${randomBytes(6).toString("hex")}`;
			const url = await createDatabase(adminUrl, name, template);
			return { url, drop: () => dropDatabase(adminUrl, name) };
		},
		/** Only what was started here. */
		stop: async () => (await ownServer)?.stop(),
	};
}
