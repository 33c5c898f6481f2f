// A real PgBouncer in transaction mode before a test's PostgreSQL, with few connections to it, so that transactions of
// different clients must take turns in the same session.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./postgres.ts";
import { reachableTempFolder, serverAccount } from "./postgres-binaries.ts";
import { watchProcess } from "./watched-process.ts";

export interface PgBouncer {
	/** The same database, through the pooler. */
	url: string;
	stop(): Promise<void>;
}

/** Fewer than one process's pool has. */
const SERVER_CONNECTIONS = 4;

/** Ends with us, whatever happens to us: the pipe that it reads from closes. */
const KEPT = `"$1" "$2" & pid=$!; cat > /dev/null; kill -TERM $pid; wait $pid`;

export async function startPgBouncer(program: string, databaseUrl: string): Promise<PgBouncer> {
	const account = serverAccount();
	const folder = mkdtempSync(join(reachableTempFolder(account), "ringback-pgbouncer-"));
	const port = await freePort();
	const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl);
	const database = pathname.slice(1);
	const settings = join(folder, "pgbouncer.ini");
	writeFileSync(
		settings,
		[
			"[databases]",
			`${database} = host=${hostname} port=${serverPort} user=${username} password=${password}`,
			"[pgbouncer]",
			"listen_addr = 127.0.0.1",
			`listen_port = ${port}`,
			"unix_socket_dir =",
			"auth_type = any",
			"pool_mode = transaction",
			`default_pool_size = ${SERVER_CONNECTIONS}`,
			"max_client_conn = 200",
		].join("\n"),
		{ mode: 0o600 },
	);
	if (account !== undefined) {
		for (const path of [folder, settings]) chownSync(path, account.uid, account.gid);
	}
	const child = spawn("/bin/sh", ["-c", KEPT, "pgbouncer", program, settings], { ...account, cwd: folder });
	const running = watchProcess(child);
	await running.said(/process up/);
	return {
		url: `postgres://${username}@127.0.0.1:${port}/${database}`,
		async stop() {
			await end(child);
			rmSync(folder, { recursive: true });
		},
	};
}

async function end(child: ChildProcess): Promise<void> {
	const exited = once(child, "exit");
	child.stdin?.end();
	await exited;
}
