// Starts a real PostgreSQL server for one test run, with its own folder and port on 127.0.0.1, and removes it at the
// end. The EmbeddedPostgres class is not used, because it creates a system account when it runs as root.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import {
	type Account,
	findBinaries,
	type PostgresBinaries,
	reachableTempFolder,
	serverAccount,
} from "./postgres-binaries.ts";
import { findMemoryFolder } from "./run-folder.ts";

/** Environment variable in which test/global-setup.ts puts the URL of the server that the whole run shares. */
export const POSTGRES_URL_VARIABLE = "RINGBACK_TEST_POSTGRES_URL";

export interface PostgresServer {
	url(database?: string): string;
	/** Folder of the server's data. */
	dataFolder: string;
	/** Resolves to the URL of the new database. */
	createDatabase(name: string): Promise<string>;
	/**
	 * Restarts the server with the same data and port, which breaks every connection. "fast" stops the server cleanly.
	 * "immediate" stops it like a crash, with recovery at the start. `meanwhile` runs while the server is down.
	 */
	restart(way?: "fast" | "immediate", meanwhile?: () => Promise<void>): Promise<void>;
	stop(): Promise<void>;
}

export interface PostgresOptions {
	/**
	 * Settings as in postgresql.conf. `fsync` is on by default. If `fsync` is off, the data is stored in memory if
	 * possible.
	 */
	settings?: Readonly<Record<string, string>>;
	/** Programs of the server; those from npm by default. */
	binaries?: PostgresBinaries;
	/** Server that the new one follows as a standby. To copy its data, that server is restarted once. */
	standbyOf?: PostgresServer;
}

/**
 * Time limit for the start. It takes seconds on an idle machine, but all other tests may run at the same
 * time.
 */
const START_TIMEOUT_MS = 30_000;
const START_POLL_MS = 25;
const LOG_TAIL_LINES = 40;
const PORTS: readonly [from: number, below: number] = [10_000, 32_000];
const PORT_TRIES = 100;

const DEFAULT_SETTINGS = {
	listen_addresses: "127.0.0.1",
	unix_socket_directories: "",
	// Test files run in parallel, each with pools of ten connections.
	max_connections: "200",
};

/**
 * Settings of a server whose data nobody reads after a crash. With hundreds of databases, autovacuum would otherwise
 * start a worker several times a second.
 */
const SHORT_LIVED_SETTINGS = {
	full_page_writes: "off",
	autovacuum_naptime: "1h",
	jit: "off",
};

export async function startPostgres({
	settings = {},
	binaries: given,
	standbyOf: primary,
}: PostgresOptions = {}): Promise<PostgresServer> {
	const account = serverAccount();
	const folder = mkdtempSync(join(reachableTempFolder(account), "ringback-postgres-"));
	const isShortLived = settings["fsync"] === "off";
	const memory = isShortLived ? findMemoryFolder() : undefined;
	// The data has its own folder, so that files that a test puts beside the data are removed, too.
	const home = mkdtempSync(join(memory ?? folder, "ringback-data-"));
	const dataFolder = join(home, "data");
	const keeper = startKeeper(home, folder);
	try {
		if (account !== undefined) for (const each of [folder, home]) chownSync(each, account.uid, account.gid);
		const password =
			primary === undefined ? randomBytes(16).toString("hex") : new URL(primary.url()).password;
		const binaries = given ?? findBinaries(account, join(folder, "native"));
		if (primary === undefined) {
			// PostgreSQL 15, which Debian has, supports neither the option nor the setting.
			const hasIterations = given === undefined;
			await initialise(binaries.initdb, { folder, dataFolder, password, account, hasIterations });
		} else await copyAsStandby(primary, dataFolder, account);
		const port = await freePort();
		const url = (database = "postgres") => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
		const start = () => {
			const followed = primary === undefined ? {} : { primary_conninfo: primary.url() };
			const all = {
				...DEFAULT_SETTINGS,
				...(isShortLived ? SHORT_LIVED_SETTINGS : {}),
				...settings,
				...followed,
				port: String(port),
			};
			return startServer(binaries.postgres, folder, dataFolder, all, url(), account);
		};
		let server = await start();
		return {
			url,
			dataFolder,
			createDatabase: (name) => createDatabase(url(), name),
			async restart(way = "fast", meanwhile = async () => undefined) {
				await end(server, way === "fast" ? "SIGINT" : "SIGQUIT");
				await meanwhile();
				server = await start();
			},
			async stop() {
				// SIGQUIT stops the server immediately, because nobody reads the data again.
				await end(server, "SIGQUIT");
				await releaseKeeper(keeper);
			},
		};
	} catch (error) {
		await releaseKeeper(keeper);
		throw error;
	}
}

async function initialise(
	initdb: string,
	{
		folder,
		dataFolder,
		password,
		account,
		hasIterations,
	}: {
		folder: string;
		dataFolder: string;
		password: string;
		account: Account | undefined;
		/** Whether the server supports a setting for the rounds of the password's hash. */
		hasIterations: boolean;
	},
): Promise<void> {
	// The server needs a password, because any user of the machine can reach the port, and a database
	// administrator can run programs.
	const passwordFile = join(folder, "password");
	writeFileSync(passwordFile, password, { mode: 0o600 });
	if (account !== undefined) chownSync(passwordFile, account.uid, account.gid);
	const options = [
		"--username=postgres",
		"--auth=scram-sha-256",
		"--encoding=UTF8",
		"--locale=C",
		"--no-sync",
		// The password is random and long, so a slow hash protects nothing, and every connection would compute it.
		...(hasIterations ? ["--set=scram_iterations=1"] : []),
	];
	await promisify(execFile)(initdb, [`--pgdata=${dataFolder}`, `--pwfile=${passwordFile}`, ...options], {
		...account,
		cwd: folder,
		env: { ...process.env, LC_ALL: "C" },
	});
}

/** Copies the data of the primary, which must be stopped, because a running server changes its files. */
async function copyAsStandby(
	primary: PostgresServer,
	dataFolder: string,
	account: Account | undefined,
): Promise<void> {
	await primary.restart("fast", async () => {
		await promisify(execFile)("cp", ["-a", primary.dataFolder, dataFolder]);
	});
	const signal = join(dataFolder, "standby.signal");
	writeFileSync(signal, "");
	if (account !== undefined) chownSync(signal, account.uid, account.gid);
}

async function startServer(
	postgres: string,
	folder: string,
	dataFolder: string,
	settings: Readonly<Record<string, string>>,
	url: string,
	account: Account | undefined,
): Promise<ChildProcess> {
	const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
	const logFile = join(folder, "log");
	const log = openSync(logFile, "a");
	const server = spawn(postgres, ["-D", dataFolder, ...flags], {
		...account,
		cwd: folder,
		env: { ...process.env, LC_ALL: "C" },
		stdio: ["ignore", log, log],
		detached: true,
	});
	closeSync(log);
	server.unref();
	const deadlineMs = Date.now() + START_TIMEOUT_MS;
	while (!(await accepts(url))) {
		if (hasEnded(server) || Date.now() > deadlineMs) {
			const tail = readFileSync(logFile, "utf8").split("\n").slice(-LOG_TAIL_LINES).join("\n");
			throw new Error(`PostgreSQL did not start (${hasEnded(server) ? "it ended" : "timeout"}):\n${tail}`);
		}
		await new Promise((resolve) => setTimeout(resolve, START_POLL_MS));
	}
	return server;
}

async function accepts(url: string): Promise<boolean> {
	const client = new pg.Client({ connectionString: url });
	try {
		await client.connect();
		return true;
	} catch {
		// The server does not listen yet or is still starting. The caller polls again until its time limit. After that,
		// the caller shows the server's log.
		return false;
	} finally {
		await client.end();
	}
}

async function end(server: ChildProcess, signal: "SIGINT" | "SIGQUIT"): Promise<void> {
	if (hasEnded(server)) return;
	server.ref();
	const gone = once(server, "exit");
	server.kill(signal);
	await gone;
}

function hasEnded(server: ChildProcess): boolean {
	return server.exitCode !== null || server.signalCode !== null;
}

/**
 * Returns a free port below the range that the system uses for outgoing connections. Another program could
 * take a port of that range between this check and the start of the server, or during a restart.
 */
export async function freePort(): Promise<number> {
	for (let tried = 0; tried < PORT_TRIES; tried++) {
		const port = randomInt(...PORTS);
		const probe = createServer().listen(port, "127.0.0.1");
		const isFree = await once(probe, "listening").then(
			() => true,
			() => false,
		);
		if (!isFree) continue;
		probe.close();
		await once(probe, "close");
		return port;
	}
	throw new Error("no free port");
}

/**
 * Shell script that stops the server and removes its folders, whatever happens to the process that started
 * it. It reads a pipe that only our process holds. The system closes that pipe even if our process is killed.
 */
const KEEPER = `
	trap "" INT TERM HUP
	cat > /dev/null
	pid_file="$1/data/postmaster.pid"
	if pid=$(head -n 1 "$pid_file" 2> /dev/null); then
		kill -QUIT "$pid"
		for i in 1 2 3 4 5 6 7 8 9 10; do [ -e "$pid_file" ] && sleep 0.2; done
	fi
	rm -rf "$@"`;

/**
 * Starts the script, which must happen before any file is written to the folders. The server's data is in `data` below
 * the first folder.
 */
function startKeeper(home: string, ...others: readonly string[]): ChildProcess {
	// The shell is detached, because Ctrl-C in the terminal must end the tests before it ends the shell.
	const keeper = spawn("/bin/sh", ["-c", KEEPER, "keeper", home, ...others], {
		stdio: ["pipe", "ignore", "ignore"],
		detached: true,
	});
	keeper.unref();
	if (keeper.stdin instanceof Socket) keeper.stdin.unref();
	return keeper;
}

/** Closes the pipe, so that the script stops the server and removes the folders, and waits for the script to end. */
async function releaseKeeper(keeper: ChildProcess): Promise<void> {
	if (hasEnded(keeper)) return;
	keeper.ref();
	const gone = once(keeper, "exit");
	keeper.stdin?.end();
	await gone;
}

/** Creates a database that is empty, or a copy of the template. Resolves to its URL. */
export async function createDatabase(adminUrl: string, name: string, template?: string): Promise<string> {
	// The strategy file_copy takes half the time of the default, which writes every page of the template to the log.
	const copied =
		template === undefined ? "" : ` template ${pg.escapeIdentifier(template)} strategy file_copy`;
	await runAsAdmin(adminUrl, `create database ${pg.escapeIdentifier(name)}${copied}`);
	const url = new URL(adminUrl);
	url.pathname = `/${name}`;
	return url.href;
}

/** Drops the database. Fails if a connection is still open, which proves that a test closed everything. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
	await runAsAdmin(adminUrl, `drop database ${pg.escapeIdentifier(name)}`);
}

/**
 * Forbids connections to a database, including autovacuum's, because PostgreSQL can only copy a database without
 * connections.
 */
export async function closeDatabase(adminUrl: string, name: string): Promise<void> {
	await runAsAdmin(adminUrl, `alter database ${pg.escapeIdentifier(name)} allow_connections false`);
}

async function runAsAdmin(adminUrl: string, statement: string): Promise<void> {
	const client = new pg.Client({ connectionString: adminUrl });
	await client.connect();
	try {
		await client.query(statement);
	} finally {
		await client.end();
	}
}

/**
 * Returns functions that create databases on the PostgreSQL server of the test run. If there is no such server, they
 * start one.
 */
export function createPostgresAtHand(options: PostgresOptions = {}) {
	let ownServer: Promise<PostgresServer> | undefined;
	async function serverUrl(): Promise<string> {
		const shared = process.env[POSTGRES_URL_VARIABLE];
		if (shared !== undefined) return shared;
		ownServer ??= startPostgres(options);
		return (await ownServer).url();
	}
	return {
		/** Creates a database that is empty, or a copy of a template. */
		async createDatabase(template?: string) {
			const adminUrl = await serverUrl();
			const name = `ringback_${randomBytes(6).toString("hex")}`;
			const url = await createDatabase(adminUrl, name, template);
			return { url, drop: () => dropDatabase(adminUrl, name) };
		},
		/** Stops the server only if this object started it. */
		stop: async () => (await ownServer)?.stop(),
	};
}
