// Resources that workloads share: a folder, a receiver and databases. They are opened when they are needed
// and removed at the end.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PostgresServer, startPostgres } from "../test/support/postgres.ts";
import { type Database, openDatabase } from "./database.ts";
import { type Receiver, startReceiver } from "./receiver-process.ts";
import { type ServiceProcess, type ServiceSettings, startService } from "./service-process.ts";

export interface Tools {
	/** Prints a line of progress. */
	say(line: string): void;
	folder: string;
	/** Returns a receiver that answers at once and counts requests. */
	receiver(): Promise<Receiver>;
	/**
	 * Begins the next phase of a workload. In a comparison the other checkout then has its turn with the same phase, so
	 * that both are measured within seconds.
	 */
	beginPhase(): Promise<void>;
	/** Starts the service that is measured. */
	startService(settings: ServiceSettings): Promise<ServiceProcess>;
	/**
	 * Runs the work on an empty database with the schema of the measured service. The database is removed
	 * afterwards.
	 */
	withDatabase<Answer>(kind: Database, work: (url: string) => Promise<Answer>): Promise<Answer>;
	/** Returns the PostgreSQL server, which holds all databases of a run. */
	postgres(): Promise<PostgresServer>;
}

export interface OpenedTools {
	/** Returns the tools that measure the service of the checkout in the folder. */
	toolsFor(folder: string): Tools;
	postgresVersion(): string | null;
	close(): Promise<void>;
}

/** Settings that make PostgreSQL count statements, which costs about a microsecond for each statement. */
const POSTGRES_SETTINGS = {
	shared_preload_libraries: "pg_stat_statements",
	"pg_stat_statements.track_utility": "on",
};

export function openTools(say: (line: string) => void): OpenedTools {
	const folder = mkdtempSync(join(tmpdir(), "ringback-bench-"));
	const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
	process.once("exit", removeFolder);
	let opening: Promise<PostgresServer> | null = null;
	let version: string | null = null;
	let receiver: Promise<Receiver> | null = null;
	let databases = 0;
	const postgres = (): Promise<PostgresServer> => {
		opening ??= startPostgres({ settings: POSTGRES_SETTINGS });
		return opening;
	};
	const toolsFor = (serviceFolder: string): Tools => ({
		say,
		folder,
		receiver() {
			receiver ??= startReceiver(folder);
			return receiver;
		},
		beginPhase: () => Promise.resolve(),
		startService: (settings) => startService(serviceFolder, settings),
		async withDatabase(kind, work) {
			const name = `bench_${++databases}`;
			const where =
				kind === "SQLite" ? { file: join(folder, `${name}.db`) } : { server: await postgres(), name };
			const database = await openDatabase(where, serviceFolder);
			version = database.postgresVersion ?? version;
			try {
				return await work(database.url);
			} finally {
				await database.remove();
			}
		},
		postgres,
	});
	return {
		toolsFor,
		postgresVersion: () => version,
		async close() {
			await (await receiver)?.stop();
			await (await opening)?.stop();
			removeFolder();
			process.off("exit", removeFolder);
		},
	};
}
