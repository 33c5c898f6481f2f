// Tests stopping `ringback serve`. Work in progress is finished and stored, nothing new is begun, and no
// client can delay the stop for long.

import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, type TestContext, test } from "node:test";
import { type Home, openHome, type Running, type Settings } from "../support/command-home.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { type AnswerRequest, type Shop, startShop } from "../support/shop.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { createShopClient, type ShopClient } from "../support/shop-client.ts";
import { signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";

/**
 * Maximum duration of a stop in these tests. Five seconds are promised, and the rest is for a machine that
 * runs all other tests at the same time.
 */
const STOP_LIMIT_MS = 12_000;
/** Duration of a drain that is longer than any test waits. */
const LONG_DRAIN_SECONDS = "300";

describe("stopping the service", { concurrency: 3 }, () => {
	test("a stopping service finishes and stores the callbacks in flight, sends nothing more, and exits with 0", async (t) => {
		const held: Socket[] = [];
		const site = await open(t, () => ({ raw: (socket) => held.push(socket) }), {
			RINGBACK_MAX_IN_FLIGHT_PER_PROGRAMME: "2",
		});
		const { shop, home, running, url } = await site.start();
		await sell(site.client(url), 6);
		await until(() => held.length === 2);
		// An unfinished request keeps the service running for a while. Even during that time nothing more is
		// sent.
		const asking = ask(url, site.account, "never sent").on("error", () => undefined);
		await once(asking, "continue");
		running.kill("SIGTERM");
		await running.said(/stopping: finishing what is in flight/);
		await until(() => refuses(url));
		for (const socket of held) socket.write("HTTP/1.1 204 No Content\r\n\r\n");
		await until(() => readAll(home, "select id from deliveries where state = 'delivered'").length === 2);
		asking.destroy();
		const ended = await running.ended();
		deepEqual([ended.code, ended.signal], [0, null]);
		match(ended.stdout, /^Stopped\.$/m);
		equal(shop.requests.length, 2);
		deepEqual(count(home, "select state, count(*) as n from deliveries group by state order by state"), {
			delivered: 2,
			pending: 4,
		});
		deepEqual(count(home, "select result as state, count(*) as n from attempts group by result"), {
			answered: 2,
		});
		equal(readAll(home, "select * from engines").length, 0, "and whoever comes next need not wait");

		shop.answer = () => ({ status: 204 });
		const again = await site.start();
		await until(() => shop.requests.length === 6);
		again.running.kill("SIGTERM");
		equal((await again.running.ended()).code, 0);
		const orders = new Set(shop.requests.map(({ body }) => JSON.parse(body.toString()).orderId));
		equal(orders.size, 6, "each once: nothing was sent again");
	});

	test("a stopping service answers and stores a request that a shop has begun, and accepts no new one", async (t) => {
		const site = await open(t, () => ({ status: 204 }));
		const { home, running, url } = await site.start();
		const body = JSON.stringify({ orderId: "late", basketValue: "10.00", currency: "EUR" });
		const asking = ask(url, site.account, body);
		await once(asking, "continue");
		running.kill("SIGTERM");
		await running.said(/stopping: finishing what is in flight/);
		await rejects(fetch(`${url}/healthz`));
		asking.end(body);
		const [answer] = (await once(asking, "response")) as [IncomingMessage];
		const text = Buffer.concat(await answer.toArray()).toString();
		equal(JSON.parse(text).outcome, "RECORDED", text);
		equal((await running.ended()).code, 0);
		deepEqual(
			readAll(home, "select order_id from conversions").map((row) => row["order_id"]),
			["late"],
		);
	});

	test("a stop takes five seconds at most with a shop that never answers and a client that never finishes", async (t) => {
		const site = await open(t, () => "hang");
		const { shop, home, running, url } = await site.start();
		await sell(site.client(url), 1);
		await until(() => shop.requests.length === 1);
		const asking = ask(url, site.account, "never sent");
		asking.on("error", () => undefined);
		await once(asking, "continue");
		const half = connect(Number(new URL(url).port), "127.0.0.1");
		t.after(() => half.destroy());
		half.on("error", () => undefined).write("POST /v1/conversions HTTP/1.1\r\nHost: ");
		running.kill("SIGTERM");
		const fromMs = performance.now();
		equal((await running.ended()).code, 0);
		ok(performance.now() - fromMs < STOP_LIMIT_MS);
		asking.destroy();
		deepEqual(count(home, "select result as state, count(*) as n from attempts group by result"), {
			timeout: 1,
		});
		deepEqual(
			readAll(home, "select counted from queue").map((row) => ({ ...row })),
			[{ counted: 1 }],
			"the timeout counts, and a retry is planned",
		);
	});

	test("a second Ctrl-C stops the service immediately", async (t) => {
		const site = await open(t, () => "hang");
		const { shop, running, url } = await site.start();
		await sell(site.client(url), 1);
		await until(() => shop.requests.length === 1);
		running.kill("SIGINT");
		await running.said(/Ctrl-C again to stop at once/);
		// A second signal within a second counts as npm's copy of the first one, so the test repeats it.
		await until(() => {
			running.kill("SIGINT");
			return !running.isRunning;
		});
		deepEqual((await running.ended()).signal, "SIGINT");
	});

	test("with a drain a stopping service first reports that it is not ready, and answers all requests until the drain ends", async (t) => {
		const site = await open(t, () => ({ status: 204 }), { RINGBACK_DRAIN_SECONDS: LONG_DRAIN_SECONDS });
		const { shop, home, running, url } = await site.start();
		const agent = new Agent({ keepAlive: true });
		t.after(() => agent.destroy());
		deepEqual(await look(url, "/readyz", agent), [200, "keep-alive", '{"status":"ready"}']);
		running.kill("SIGTERM");
		await running.said(/stopping: unready, and still answering/);
		const [status, connection, text] = await look(url, "/readyz", agent);
		deepEqual([status, connection], [503, "close"], "whoever keeps a connection goes elsewhere");
		match(text, /"detail":"The service is stopping\. /);
		deepEqual(await look(url, "/healthz", agent), [200, "close", '{"status":"ok"}']);
		// The engine has given up its slots by now, so it begins no callback that it could not finish.
		await until(() => readAll(home, "select * from engines").length === 0);
		await sell(site.client(url), 3);
		equal(readAll(home, "select * from conversions").length, 3);
		equal(shop.requests.length, 0);

		// The second signal ends the service at once, and no answered request is lost.
		await until(() => {
			running.kill("SIGINT");
			return !running.isRunning;
		});
		equal((await running.ended()).signal, "SIGINT");

		const again = await site.start();
		await until(() => shop.requests.length === 3);
		again.running.kill("SIGINT");
		const { code, stderr } = await again.running.ended();
		equal(code, 0);
		doesNotMatch(stderr, /still answering/, "at a terminal nobody waits for load balancers");
		equal(shop.requests.length, 3);
	});

	test("a service with a drain stops by itself when the drain ends", async (t) => {
		const site = await open(t, () => ({ status: 204 }), { RINGBACK_DRAIN_SECONDS: "1" });
		const { running } = await site.start();
		running.kill("SIGTERM");
		const { code, stderr } = await running.ended();
		equal(code, 0);
		const lines = stderr.trimEnd().split("\n").slice(-3);
		deepEqual(
			lines.map((line) => JSON.parse(line)).map(({ cause, msg }) => [cause, msg]),
			[
				["SIGTERM", "stopping: unready, and still answering"],
				["SIGTERM", "stopping: finishing what is in flight"],
				["SIGTERM", "stopped"],
			],
		);
	});
});

interface Site {
	account: ShopAccount;
	client(url: string): ShopClient;
	start(): Promise<{ shop: Shop; home: Home; running: Running; url: string }>;
}

async function open(t: TestContext, answer: AnswerRequest, more: Settings = {}): Promise<Site> {
	const home = openHome(t);
	const shop = await startShop({ answer });
	t.after(() => shop.close());
	writeFileSync(join(home.folder, "ca.pem"), shop.caPem);
	const settings: Settings = {
		...more,
		PORT: "0",
		DATABASE_URL: `sqlite:${home.databasePath}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: join(home.folder, "ca.pem"),
	};
	const account = await prepareDatabase(settings, { postbackUrl: shop.url() });
	return {
		account,
		client: (url) => createShopClient(url, account.apiKey, account.secret, Date.now),
		async start() {
			const running = home.start(["serve"], settings);
			const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
			return { shop, home, running, url };
		},
	};
}

async function sell(client: ShopClient, orders: number): Promise<void> {
	for (let order = 1; order <= orders; order++) {
		const sale = { orderId: String(order), basketValue: "10.00", currency: "EUR" };
		await client.post("/v1/conversions", sale);
	}
}

/** Sends the head of a signed request and waits for 100 Continue, so that the service is busy with it. */
function ask(url: string, { apiKey, secret }: ShopAccount, body: string): ClientRequest {
	const signed = signedRequest(
		"POST",
		"/v1/conversions",
		{ key: apiKey, secret },
		{ body, nowMs: Date.now() },
	);
	const headers = {
		...Object.fromEntries(signed.headers),
		expect: "100-continue",
		"content-length": body.length,
	};
	const asking = request(`${url}/v1/conversions`, { method: "POST", headers, agent: false });
	asking.flushHeaders();
	return asking;
}

async function look(url: string, path: string, agent: Agent): Promise<[number, string, string]> {
	const asking = request(`${url}${path}`, { agent }).end();
	const [answer] = (await once(asking, "response")) as [IncomingMessage];
	const text = Buffer.concat(await answer.toArray()).toString();
	return [answer.statusCode ?? 0, answer.headers.connection ?? "", text];
}

async function refuses(url: string): Promise<boolean> {
	return fetch(`${url}/healthz`).then(
		() => false,
		() => true,
	);
}

function readAll(home: Home, sql: string): Record<string, unknown>[] {
	using database = new DatabaseSync(home.databasePath, { readOnly: true });
	return database.prepare(sql).all();
}

function count(home: Home, sql: string): Record<string, unknown> {
	return Object.fromEntries(readAll(home, sql).map((row) => [String(row["state"]), row["n"]]));
}
