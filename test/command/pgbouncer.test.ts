// Tests the service behind a real PgBouncer in transaction mode: two processes, a sale from its report to its
// callback, the event stream, a sign-in, and the messages if the settings do not fit.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Browser, PASSWORD } from "#core/web/test-site.test-support.ts";
import { type Home, hasStack, openHome, type Running, type Settings } from "../support/command-home.ts";
import { findProgram } from "../support/find-program.ts";
import { noteNotRun } from "../support/not-run.ts";
import { freePort } from "../support/postgres.ts";
import { reachableTempFolder, serverAccount } from "../support/postgres-binaries.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { receiverId } from "../support/receiver-ids.ts";
import { startShop } from "../support/shop.ts";
import { createShopClient } from "../support/shop-client.ts";
import { signedRequest } from "../support/signed-request.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, openPostgresAt } from "../support/test-database.ts";
import { until } from "../support/until.ts";
import { watchProcess } from "../support/watched-process.ts";
import { startNameServer } from "../support/zone-server.ts";

const SECRET_KEY = "ab".repeat(32);
const PROGRAM = findProgram("pgbouncer") ?? "";
const MISSING =
	"PgBouncer is not installed, so running behind it is not tested (Debian: apt-get install pgbouncer).";

if (PROGRAM === "") noteNotRun(MISSING);

describe("the service behind PgBouncer", { skip: PROGRAM === "" ? MISSING : false }, () => {
	test("behind PgBouncer two processes accept sales, deliver, stream and let people sign in", async (t) => {
		const { home, settings } = await openPooledHome(t);
		const shop = await startShop();
		t.after(() => shop.close());
		writeFileSync(join(home.folder, "ca.pem"), shop.caPem);
		const account = await prepareDatabase(
			{ ...settings, RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8" },
			{ postbackUrl: shop.url() },
		);
		const start = (role: string) =>
			home.start(["serve"], {
				...settings,
				PORT: "0",
				RINGBACK_ROLE: role,
				RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
				RINGBACK_TRUSTED_CA: join(home.folder, "ca.pem"),
			});
		const processes = [start("web"), start("worker")];
		const [web = ""] = await Promise.all(processes.map(urlOf));

		const stream = await openStream(t, web, account);
		const client = createShopClient(web, account.apiKey, account.secret, Date.now);
		const orders = Array.from({ length: 40 }, (_, n) => `order ${n}`);
		const recorded = await Promise.all(
			orders.map((orderId) => client.post("/v1/conversions", { orderId, basketValue: "10.00" })),
		);
		deepEqual(new Set(recorded.map(({ outcome }) => outcome)), new Set(["RECORDED"]));
		await Promise.all(orders.map((orderId) => client.post("/v1/approvals", { orderId })));
		// This alone does not prove that the worker was notified, because the worker also polls.
		await until(
			() => shop.requests.length >= 80,
			() => `${shop.requests.length} callbacks came`,
		);
		equal(shop.requests.length, 80, "none came twice");
		await until(() => stream.events.length >= 80);

		const { stdout } = processes[0] ?? { stdout: "" };
		await signIn(web, /\/welcome\/[0-9a-f]{64}/.exec(stdout)?.[0] ?? "");

		for (const running of processes) running.kill("SIGTERM");
		for (const running of processes) {
			const { code, stderr } = await running.ended();
			equal(code, 0, stderr);
			equal(/"level":"error"|"level":50/.test(stderr), false, stderr);
		}
	});

	test("behind PgBouncer a process receives the notifications of another one", async (t) => {
		const { url, database } = await openPooled(t);
		const [listener, teller] = [1, 2].map(() => openPostgresAt(url, { directUrl: database.url }));
		try {
			const heard: unknown[] = [];
			listener?.onDue({
				onOwed(owed) {
					heard.push(owed);
					return [];
				},
				onTargetChange: (id) => heard.push(id),
				onRecheck: () => heard.push("recheck"),
			});
			await until(() => heard.length > 0);
			teller?.announceDue({ receiverIds: [receiverId(7)], dueAtMs: 123 });
			teller?.announceTargetChange(receiverId(8));
			await until(() => heard.length > 2);
			deepEqual(heard, ["recheck", { receiverIds: [7], dueAtMs: 123 }, 8]);
		} finally {
			await listener?.close();
			await teller?.close();
		}
	});

	test("behind PgBouncer the service does not start without the server's own address, and says which setting is missing", async (t) => {
		const { home, settings } = await openPooledHome(t);
		const { RINGBACK_DATABASE_DIRECT_URL: _none, ...alone } = settings;
		for (const command of ["serve", "migrate"]) {
			const ended = await home.runHere([command], { ...alone, PORT: "0" });
			equal(ended.code, 1, ended.stdout);
			match(
				ended.stderr,
				/leads to a connection pooler .*Set RINGBACK_DATABASE_DIRECT_URL to the PostgreSQL/,
			);
			equal(hasStack(ended), false);
		}
	});

	test("ringback doctor says whether LISTEN works at its configured address", async (t) => {
		const { home, settings, url } = await openPooledHome(t);
		const names = await startNameServer();
		t.after(() => names.close());
		names.records.set("example.com", ["192.0.2.1"]);
		const surroundings = { ...settings, RINGBACK_DNS_SERVERS: names.address };
		await home.runHere(["migrate"], settings);
		const good = await home.runHere(["doctor"], surroundings);
		match(good.stdout, /^ok +listen +LISTEN works at RINGBACK_DATABASE_DIRECT_URL$/m);
		match(good.stdout, /^WARNING +timeouts +.*outside a transaction run for ever.*alter role/m);
		equal(good.code, 0, good.stdout);
		const bad = await home.runHere(["doctor"], { ...surroundings, RINGBACK_DATABASE_DIRECT_URL: url });
		match(bad.stdout, /^PROBLEM +listen +LISTEN does not work at RINGBACK_DATABASE_DIRECT_URL.*pooler/m);
		equal(bad.code, 1);
	});
});

async function openPooled(t: TestContext): Promise<PgBouncer & { database: TestDatabase }> {
	const database = await createTestDatabase("PostgreSQL");
	const pooler = await startPgBouncer(PROGRAM, database.url);
	t.after(() => pooler.stop());
	t.after(() => database.remove());
	return { ...pooler, database };
}

/**
 * Opens a database behind a pooler. Cleanup hooks run in the order in which they were added, so the processes
 * must end before the pooler, and the pooler before the database.
 */
async function openPooledHome(t: TestContext): Promise<{ home: Home; settings: Settings; url: string }> {
	const home = openHome(t);
	const database = await createTestDatabase("PostgreSQL");
	const pooler = await startPgBouncer(PROGRAM, database.url);
	t.after(() => pooler.stop());
	t.after(() => database.remove());
	const settings = {
		DATABASE_URL: pooler.url,
		RINGBACK_DATABASE_DIRECT_URL: database.url,
		RINGBACK_SECRET_KEY: SECRET_KEY,
	};
	return { home, settings, url: pooler.url };
}

async function urlOf(running: Running): Promise<string> {
	const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
	return url;
}

async function openStream(
	t: TestContext,
	url: string,
	{ apiKey: key, secret }: { apiKey: string; secret: string },
): Promise<{ events: readonly string[] }> {
	const events: string[] = [];
	const abort = new AbortController();
	const { headers } = signedRequest("GET", "/v1/events", { key, secret }, { nowMs: Date.now() });
	const { body, status } = await fetch(`${url}/v1/events`, { headers, signal: abort.signal });
	equal(status, 200);
	t.after(async () => abort.abort());
	const reading = async () => {
		for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
			events.push(...chunk.matchAll(/^event: (conversion\.\w+)$/gm).map(([, name = ""]) => name));
		}
	};
	reading().catch(() => undefined); // The stream is aborted at the end of the test.
	return { events };
}

/** Creates the first account, and signs in with it in another browser. */
async function signIn(url: string, link: string): Promise<void> {
	const request = (path: string, init: RequestInit) => fetch(url + path, { ...init, redirect: "manual" });
	const email = "first@network.example";
	const first = new Browser(request);
	ok((await first.open(link)).text.includes("the first staff account"));
	equal((await first.submit(link, { email, name: "First", password: PASSWORD })).status, 303);
	const second = new Browser(request);
	await second.open("/sign-in");
	equal((await second.submit("/sign-in", { email, password: PASSWORD })).location, "/");
	equal((await second.open("/programmes")).status, 200);
}

interface PgBouncer {
	/** URL of the test's database through the pooler. */
	url: string;
	stop(): Promise<void>;
}

/**
 * Number of the pooler's connections to the server. It is smaller than the connection pool of one process.
 */
const SERVER_CONNECTIONS = 4;

/**
 * Shell script that runs the pooler. It ends together with the test process in every case, because its input
 * pipe closes then.
 */
const KEPT = `"$1" "$2" & pid=$!; cat > /dev/null; kill -TERM $pid; wait $pid`;

async function startPgBouncer(program: string, databaseUrl: string): Promise<PgBouncer> {
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
