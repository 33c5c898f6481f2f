// Tests `ringback serve`: what it prints at the start, why it refuses to start, and what its log must never
// contain.

import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { describeNotAllowed } from "../../src/cli/serve.ts";
import { type Ended, hasStack, openHome, type Settings } from "../support/command-home.ts";
import { portOf } from "../support/port-of.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { startShop } from "../support/shop.ts";
import { createShopClient } from "../support/shop-client.ts";
import { createTestDatabase } from "../support/test-database.ts";

const KEY = "ab".repeat(32);
const PASSWORD = "hunter2-do-not-print";

describe("ringback serve", { concurrency: 2 }, () => {
	test("serve prints its address and, until somebody can sign in, the link to begin with", async (t) => {
		const home = openHome(t);
		const first = home.start(["serve"], { PORT: "0" });
		const [, url = ""] = await first.said(/^Ringback listens on (http:\/\/127\.0\.0\.1:\d+)$/m);
		await first.said(/^Or see it work first: npm run demo$/m);
		const [, link = ""] = /^(http:\/\/127\.0\.0\.1:\d+\/welcome\/[0-9a-f]{64})$/m.exec(first.stdout) ?? [];
		match(await (await fetch(link)).text(), /the first staff account/);
		match(first.stdout, /^ {2}mail {5}off/m);
		equal((await fetch(`${url}/healthz`)).status, 200);
		equal((await fetch(`${url}/readyz`)).status, 200);
		first.kill("SIGTERM");
		const ended = await first.ended();
		equal(ended.code, 0);
		match(ended.stdout, /^Stopped\.$/m);
		checkLog({ ...ended, stdout: "" }, link.split("/").at(-1) ?? "-");
		deepEqual(readdirSync(home.folder).toSorted(), ["ringback.db", "ringback.db.key"], "all is closed");

		const second = home.start(["serve", "--json"], { PORT: "0" });
		await second.said(/"event":"listening"/);
		second.kill("SIGINT");
		const { code, stdout } = await second.ended();
		equal(code, 0);
		const { event, role, schemaVersion, welcomeLink } = JSON.parse(stdout) as Record<string, unknown>;
		deepEqual([event, role, typeof schemaVersion], ["listening", "all", "number"]);
		match(String(welcomeLink), /\/welcome\/[0-9a-f]{64}$/);
		ok(!String(welcomeLink).endsWith(link.split("/").at(-1) ?? "-"), "each start has a link of its own");
	});

	test("serve runs on PostgreSQL, and shows its address without the password", async (t) => {
		const database = await createTestDatabase("PostgreSQL");
		const home = openHome(t);
		// This hook is added after the home's own hook, because a database can only be removed when nobody is
		// connected.
		t.after(() => database.remove());
		const running = home.start(["serve"], {
			PORT: "0",
			DATABASE_URL: database.location,
			RINGBACK_SECRET_KEY: KEY,
		});
		await running.said(/^Or see it work first/m);
		match(running.stdout, /^ {2}store {4}PostgreSQL at 127\.0\.0\.1:\d+, schema version \d+$/m);
		running.kill("SIGTERM");
		const ended = await running.ended();
		equal(ended.code, 0);
		checkLog(ended, new URL(database.location).password, KEY);
		deepEqual(readdirSync(home.folder), [], "the key stays in the environment");
	});

	test("serve answers /metrics at a separate address only, and prints that address", async (t) => {
		const home = openHome(t);
		const running = home.start(["serve"], {
			PORT: "0",
			RINGBACK_ROLE: "worker",
			RINGBACK_METRICS_ADDRESS: "127.0.0.1:0",
		});
		const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
		const [, metricsUrl = ""] = await running.said(/^ {2}metrics {2}(http:\/\/127\.0\.0\.1:\d+\/metrics)$/m);
		match(await (await fetch(metricsUrl)).text(), /^ringback_oldest_due_age_seconds 0$/m);
		const details = (await (await fetch(new URL("/health", metricsUrl))).json()) as Record<string, unknown>;
		deepEqual([details["status"], details["database"], details["role"]], ["ready", "answers", "worker"]);
		for (const path of ["/metrics", "/health"]) equal((await fetch(url + path)).status, 404, path);
		for (const path of ["/healthz", "/readyz"]) {
			equal((await fetch(url + path)).status, 200, path);
			equal((await fetch(new URL(path, metricsUrl))).status, 404, path);
		}
		running.kill("SIGTERM");
		equal((await running.ended()).code, 0);
		await rejects(fetch(metricsUrl), "it closed with the rest");
	});

	test("serve starts without metrics if the default address is taken, and warns", async (t) => {
		await takePort(t, 9464);
		// An empty value counts as not set.
		const running = openHome(t).start(["serve"], { PORT: "0", RINGBACK_METRICS_ADDRESS: "" });
		const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
		await running.said(/^ {2}metrics {2}off$/m);
		equal((await fetch(`${url}/readyz`)).status, 200);
		running.kill("SIGTERM");
		const ended = await running.ended();
		equal(ended.code, 0);
		match(ended.stderr, /this process has no \/metrics: .*RINGBACK_METRICS_ADDRESS/);
	});

	test("serve warns of insecure settings on the screen and in the log, and of nothing else", async (t) => {
		const home = openHome(t);
		const start = async (settings: Settings): Promise<Ended> => {
			const running = home.start(["serve"], { PORT: "0", ...settings });
			await running.said(/^Or see it work first/m);
			running.kill("SIGTERM");
			return running.ended();
		};
		const unset = await start({ HOST: "0.0.0.0" });
		match(unset.stdout, /^ {2}WARNING {2}PUBLIC_URL is not set\. .*Set PUBLIC_URL/m);
		match(unset.stderr, /"kind":"no_public_url".*PUBLIC_URL is not set/);
		doesNotMatch(unset.stdout, /^ {2}brand/m, "not chosen yet");
		const plain = await start({ PUBLIC_URL: "http://ringback.example" });
		match(plain.stdout, /^ {2}WARNING {2}Ringback is used over plain HTTP at ringback\.example\./m);
		match(plain.stderr, /"kind":"plain_http"/);
		const good = await start({
			PUBLIC_URL: "https://ringback.example",
			RINGBACK_CLICK_URL: "https://go.example",
			RINGBACK_BRAND: "Acme",
		});
		match(good.stdout, /^ {2}links {4}https:\/\/go\.example\/c\/…\n {2}brand {4}Acme \(X-Acme-Signature\)$/m);
		doesNotMatch(good.stdout, /WARNING/);
		doesNotMatch(good.stderr, /PUBLIC_URL|plain_http/);
	});

	test("serve says in a sentence why it cannot start, without the password, and exits with 1", async (t) => {
		const port = await takePort(t);
		const postgres = (where: string): Settings => ({
			DATABASE_URL: `postgres://ringback:${PASSWORD}@${where}/ringback`,
			RINGBACK_SECRET_KEY: KEY,
		});
		const cases: readonly [settings: Settings, sentence: RegExp][] = [
			[{ PORT: port }, /^Port \d+ is taken, .*choose another port: PORT=809\d npm start\n$/],
			[
				{ RINGBACK_METRICS_ADDRESS: `127.0.0.1:${port}` },
				/^RINGBACK_METRICS_ADDRESS cannot be listened on \(.*EADDRINUSE.*or off\.\n$/,
			],
			[{ HOST: "192.0.2.1" }, /^This machine does not have the address .*Set HOST .*\.\n$/],
			[postgres("localhost:1"), /^The database does not answer\. Check DATABASE_URL, and that it runs\.\n$/],
			[
				postgres("nowhere.invalid"),
				/^A host name cannot be looked up .*nowhere\.invalid.*DATABASE_URL.*\.\n$/,
			],
		];
		for (const [index, [settings, sentence]] of cases.entries()) {
			const home = openHome(t);
			// Only one case runs as a separate process, to check the exit code and standard error.
			const run = index === 0 ? home.run : home.runHere;
			const ended = await run(["serve"], { PORT: "0", LOG_LEVEL: "error", ...settings });
			checkRefusal(ended, 1, sentence);
			if (settings["PORT"] === port) equal(existsSync(home.databasePath), false, "nothing was made before");
		}
	});

	test("serve names a port or folder that it may not use, and what to do", () => {
		const port = Object.assign(new Error("listen EACCES"), { syscall: "listen", port: 80 });
		match(describeNotAllowed(port), /may not listen on port 80\. .*PORT=8090$/);
		const folder = Object.assign(new Error("mkdir EACCES"), { syscall: "mkdir", path: "/srv/ringback" });
		match(describeNotAllowed(folder), /may not use \/srv\/ringback\. .*DATABASE_URL/);
		doesNotMatch(describeNotAllowed(folder), /PORT/);
	});

	test("serve reports a secret key that does not open the database's secrets, and exits with 1", async (t) => {
		const home = openHome(t);
		await prepareDatabase({ DATABASE_URL: `sqlite:${home.databasePath}` });
		const ended = await home.runHere(["serve"], { PORT: "0", RINGBACK_SECRET_KEY: KEY });
		checkRefusal(ended, 1, /^RINGBACK_SECRET_KEY is not the key .*\.\n$/);
		equal(ended.stderr.includes(KEY), false);
	});

	test("serve lists all wrong settings, without the secrets in them, and exits with 2", async (t) => {
		const home = openHome(t);
		const ended = await home.runHere(["serve"], {
			PORT: "http",
			SMTP_URL: `mail://me:${PASSWORD}@mail.example`,
			RINGBACK_SECRET_KEY: PASSWORD,
			RINGBACK_DNS_SERVERS: "ns.example",
			RINGBACK_COLOUR: "red",
		});
		checkRefusal(
			ended,
			2,
			/^5 settings are wrong:\n( {2}- [A-Z_]+ .*\.?\n){5}`ringback guide settings` explains/,
		);
		deepEqual(readdirSync(home.folder), [], "nothing was begun");
	});

	test("serve logs JSON lines without API keys or secrets, whatever goes wrong", async (t) => {
		const home = openHome(t);
		const shop = await startShop({ answer: () => ({ status: 404 }) });
		t.after(() => shop.close());
		writeFileSync(join(home.folder, "ca.pem"), shop.caPem);
		const settings: Settings = {
			DATABASE_URL: `sqlite:${home.databasePath}`,
			RINGBACK_SECRET_KEY: KEY,
			RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
			RINGBACK_TRUSTED_CA: join(home.folder, "ca.pem"),
		};
		const { apiKey, secret } = await prepareDatabase(settings, { postbackUrl: shop.url() });
		const running = home.start(["serve"], {
			...settings,
			PORT: "0",
			LOG_LEVEL: "info",
			// Nothing listens at this address, so a notice cannot be mailed and the log says so.
			SMTP_URL: `smtp://me:${PASSWORD}@127.0.0.1:1`,
			MAIL_FROM: "rb@network.example",
		});
		const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
		const sale = { orderId: "1", basketValue: "10.00", currency: "EUR" };
		await createShopClient(url, apiKey, secret, Date.now).post("/v1/conversions", sale);
		const forger = createShopClient(url, apiKey, `${secret}x`, Date.now);
		await forger.post("/v1/conversions", sale).then(
			() => ok(false, "a wrong signature was taken"),
			(error) => match(String(error), /401/),
		);
		await running.said(/a mail could not be sent/);
		running.kill("SIGTERM");
		const ended = await running.ended();
		equal(ended.code, 0);
		equal(shop.requests.length, 1);
		ok(checkLog(ended, apiKey, secret, KEY, PASSWORD) > 2);
		match(ended.stderr, /RINGBACK_ALLOWED_PRIVATE_RANGES is on/);
	});
});

/** Checks that every line of standard error is a log line without forbidden text. Returns the number of lines. */
function checkLog(ended: Ended, ...forbidden: readonly string[]): number {
	const lines = ended.stderr.split("\n").filter((line) => line !== "");
	for (const line of lines) {
		const { level, time, msg } = JSON.parse(line) as Record<string, unknown>;
		deepEqual([typeof level, typeof time, typeof msg], ["number", "string", "string"], line);
	}
	const everything = ended.stdout + ended.stderr;
	for (const text of forbidden) equal(everything.includes(text), false, everything);
	return lines.length;
}

/** Expects a sentence on standard error and no stack. */
function checkRefusal(ended: Ended, code: number, sentence: RegExp): void {
	match(ended.stderr, sentence);
	deepEqual({ code: ended.code, stdout: ended.stdout }, { code, stdout: "" });
	equal(hasStack(ended), false, ended.stderr);
	equal(ended.stderr.includes(PASSWORD), false, ended.stderr);
}

/** Occupies the port. If another program already uses it, the effect is the same. */
async function takePort(t: TestContext, port = 0): Promise<string> {
	const server = createServer().listen(port, "127.0.0.1");
	t.after(() => server.close());
	const isTaken = await once(server, "listening").then(
		() => false,
		() => true,
	);
	return isTaken ? String(port) : String(portOf(server));
}
