// A real PostgreSQL for one test run: its own folder, its own port on 127.0.0.1, gone at the end. Over the
// bare binaries, because the EmbeddedPostgres class adds an account to the system when it runs as root.

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

/** Where test/global-setup.ts puts the URL of the server that the whole run shares. */
export const POSTGRES_URL_VARIABLE = "RINGBACK_TEST_POSTGRES_URL";

export interface PostgresServer {
	/** Of the administrator, in the named database. */
	url(database?: string): string;
	/** Where it keeps its data. */
	dataFolder: string;
	/** Resolves to the new database's URL. */
	createDatabase(name: string): Promise<string>;
	/**
	 * Starts again over the same data and port; every connection breaks. "fast" stops cleanly; "immediate" breaks
	 * off as a crash does, and recovers when it starts. `meanwhile` is done while it is down.
	 */
	restart(way?: "fast" | "immediate", meanwhile?: () => Promise<void>): Promise<void>;
	stop(): Promise<void>;
}

export interface PostgresOptions {
	/** As in postgresql.conf. `fsync` is on unless it is turned off here; then the data is in memory, where it can be. */
	settings?: Readonly<Record<string, string>>;
	/** Those of npm unless told otherwise. */
	binaries?: PostgresBinaries;
}

/** Seconds on an idle machine; this is for one that runs every other test at the same time. */
const START_TIMEOUT_MS = 30_000;
const START_POLL_MS = 25;
const LOG_TAIL_LINES = 40;
const PORTS: readonly [from: number, below: number] = [10_000, 32_000];
const PORT_TRIES = 100;

const DEFAULT_SETTINGS = {
	listen_addresses: "127.0.0.1",
	unix_socket_directories: "",
	// Test files run side by side, each with pools of ten.
	max_connections: "200",
};

export async function startPostgres({
	settings = {},
	binaries: given,
}: PostgresOptions = {}): Promise<PostgresServer> {
	const account = serverAccount();
	const folder = mkdtempSync(join(reachableTempFolder(account), "ringback-postgres-"));
	const memory = settings["fsync"] === "off" ? findMemoryFolder() : undefined;
	// Whatever a test puts beside the data goes with it.
	const home = mkdtempSync(join(memory ?? folder, "ringback-data-"));
	const dataFolder = join(home, "data");
	const keeper = startKeeper(home, folder);
	try {
		if (account !== undefined) for (const each of [folder, home]) chownSync(each, account.uid, account.gid);
		const password = randomBytes(16).toString("hex");
		const binaries = given ?? findBinaries(account, join(folder, "native"));
		await initialise(binaries.initdb, folder, dataFolder, password, account);
		const port = await freePort();
		const url = (database = "postgres") => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
		const start = () => {
			const all = { ...DEFAULT_SETTINGS, ...settings, port: String(port) };
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
				// At once: nobody will read the data again.
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
	folder: string,
	dataFolder: string,
	password: string,
	account: Account | undefined,
): Promise<void> {
	// A password, because any user of the machine can reach the port, and an administrator can run programs.
	const passwordFile = join(folder, "password");
	writeFileSync(passwordFile, password, { mode: 0o600 });
	if (account !== undefined) chownSync(passwordFile, account.uid, account.gid);
	const options = [
		"--username=postgres",
		"--auth=scram-sha-256",
		"--encoding=UTF8",
		"--locale=C",
		"--no-sync",
	];
	await promisify(execFile)(initdb, [`--pgdata=${dataFolder}`, `--pwfile=${passwordFile}`, ...options], {
		...account,
		cwd: folder,
		env: { ...process.env, LC_ALL: "C" },
	});
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
		// Not listening yet, or still starting: whoever polls gives up in time and shows the server's log.
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
 * Below those that systems give to whoever connects: such a one could be taken by anybody between our look and the
 * server's start, and again while it restarts.
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
 * Whatever happens to the process that started a test server, the server stops and its folders go. A shell waits at the end
 * of a pipe that only we hold, and the system closes that even when we are killed.
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

/** Before anything is put into the folders. The server's data will be in `data` below the first. */
function startKeeper(home: string, ...others: readonly string[]): ChildProcess {
	// Detached: Ctrl-C in the terminal goes to the tests, and must not end their keeper first.
	const keeper = spawn("/bin/sh", ["-c", KEEPER, "keeper", home, ...others], {
		stdio: ["pipe", "ignore", "ignore"],
		detached: true,
	});
	keeper.unref();
	if (keeper.stdin instanceof Socket) keeper.stdin.unref();
	return keeper;
}

/** Stops the server, if it runs, and removes the folders. */
async function releaseKeeper(keeper: ChildProcess): Promise<void> {
	keeper.ref();
	const gone = once(keeper, "exit");
	keeper.stdin?.end();
	await gone;
}

/** Empty, or with all that is in the template. Resolves to the new database's URL. */
export async function createDatabase(adminUrl: string, name: string, template?: string): Promise<string> {
	const copied = template === undefined ? "" : ` template ${pg.escapeIdentifier(template)}`;
	await runAsAdmin(adminUrl, `create database ${pg.escapeIdentifier(name)}${copied}`);
	const url = new URL(adminUrl);
	url.pathname = `/${name}`;
	return url.href;
}

/** Fails when anybody is still connected: so a test proves that it closed what it opened. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
	await runAsAdmin(adminUrl, `drop database ${pg.escapeIdentifier(name)}`);
}

/** Nobody connects any more, autovacuum included: PostgreSQL copies only what nobody uses. */
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

/** A database of one's own on the PostgreSQL of the test run, or on one that is started where there is none. */
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
