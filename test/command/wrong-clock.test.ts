// Tests real processes over one PostgreSQL, each with its own machine clock (faketime). Whatever those clocks
// show, no callback is refused for its time, nothing is approved early, no replay is accepted, and nothing
// waits for long.

import { deepEqual, equal, ok } from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { verifyPostback } from "@ringback/receiver";
import { openHome, type Running } from "../support/command-home.ts";
import { reportNotRun } from "../support/not-run.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { type ShopRequest, startShop } from "../support/shop.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { until } from "../support/until.ts";

/** Debian's library that shifts the clock of the process that loads it. */
const LIBRARY = ["/usr/lib", "/usr/lib64"]
	.filter(existsSync)
	.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name, "faketime/libfaketime.so.1")))
	.find(existsSync);
const SKIP =
	LIBRARY === undefined
		? reportNotRun("Wrong clocks are not tested: faketime is missing (apt-get install faketime).")
		: false;
const KEY = "ab".repeat(32);
/**
 * Maximum time that a shop waits after a kill. An engine counts as silent after 15 seconds, and this is
 * noticed within five.
 */
const MOST_WAIT_MS = 20_000;
const PROGRAMMES = 6;
const ROUNDS = 5;

test("processes whose clocks are far off send, decide and accept nothing", { skip: SKIP }, async (t) => {
	const network = await openNetwork(t);
	const right = await network.start();
	const wrong = await Promise.all(["+1h", "+31d", "-1h", "+4m"].map((offset) => network.start(offset)));
	await Promise.all(wrong.map(({ url }) => until(async () => (await fetch(`${url}/readyz`)).status === 503)));
	const [first] = network.accounts;
	ok(first !== undefined);
	const accepted = signSale(first, "taken once");
	equal((await send(right.url, accepted)).status, 201);
	for (const { url } of wrong) {
		equal((await send(url, accepted)).status, 503, "a replay");
		equal((await send(url, signSale(first, "new"))).status, 503);
	}
	equal((await send(right.url, accepted)).status, 401, "a replay to the one whose clock is right");

	const sold = await network.sell(() => right.url, ROUNDS);
	// No shop waits after these processes are killed, because they owned no slot.
	for (const { running } of wrong) running.kill("SIGKILL");
	const later = await network.sell(() => right.url, 1);
	await network.checkArrived(["taken once", ...sold, ...later]);
	deepEqual(await network.statuses(), ["RECORDED"]);
});

test("a process whose clock is 50 s ahead signs with the database's time, and after a kill its shops wait 20 s at most", {
	skip: SKIP,
}, async (t) => {
	const network = await openNetwork(t);
	const right = await network.start();
	const ahead = await network.start("+50s");
	await network.untilShared(2);
	const doors = [right.url, ahead.url];
	const sold = await network.sell((n) => doors[n % 2] ?? right.url, ROUNDS);
	ahead.running.kill("SIGKILL");
	const killedAtMs = Date.now();
	const later = await network.sell(() => right.url, ROUNDS);
	await network.checkArrived([...sold, ...later]);
	const waitedMs = Math.max(...network.shop.requests.map(({ arrivedAtMs }) => arrivedAtMs)) - killedAtMs;
	t.diagnostic(`the last callback came ${waitedMs} ms after the kill`);
	ok(waitedMs <= MOST_WAIT_MS, `${waitedMs} ms`);
	deepEqual(await network.statuses(), ["RECORDED"]);
});

interface Started {
	url: string;
	running: Running;
}

async function openNetwork(t: TestContext) {
	const home = openHome(t);
	const database = await createTestDatabase("PostgreSQL");
	t.after(() => database.remove());
	const shop = await startShop();
	t.after(() => shop.close());
	const ca = join(home.folder, "ca.pem");
	writeFileSync(ca, shop.caPem);
	const settings = {
		DATABASE_URL: database.url,
		RINGBACK_SECRET_KEY: KEY,
		PORT: "0",
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: ca,
	};
	const accounts: ShopAccount[] = [];
	for (let n = 0; n < PROGRAMMES; n++) {
		const owners = [`owner-${n}@shop.example`];
		accounts.push(await prepareDatabase(settings, { owners, postbackUrl: shop.url(`/${n}`) }));
	}
	const store = database.open();
	let sales = 0;
	return {
		shop,
		accounts,
		async start(offset?: string): Promise<Started> {
			// Only the wall clock is shifted. A monotonic clock that jumps is another test.
			const clock = { LD_PRELOAD: LIBRARY ?? "", FAKETIME: offset ?? "", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
			const running = home.start(["serve"], { ...settings, ...(offset === undefined ? {} : clock) });
			const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
			return { url, running };
		},
		/** Reports `rounds` sales of every programme. Resolves to the accepted orders. */
		async sell(door: (n: number) => string, rounds: number): Promise<string[]> {
			const orders: string[] = [];
			for (let round = 0; round < rounds; round++) {
				for (const account of accounts) {
					const orderId = `order ${++sales}`;
					equal((await send(door(sales), signSale(account, orderId))).status, 201);
					orders.push(orderId);
				}
			}
			return orders;
		},
		async untilShared(engines: number): Promise<void> {
			await until(async () => {
				const owners = await store.db.selectFrom("slots").select("engine_id").distinct().execute();
				return owners.length === engines && owners.every(({ engine_id }) => engine_id !== null);
			});
		},
		async checkArrived(orders: readonly string[]): Promise<void> {
			await until(
				() => new Set(shop.requests.map(orderOf)).size >= orders.length,
				() => `${shop.requests.length} of ${orders.length} callbacks came`,
			);
			deepEqual([...new Set(shop.requests.map(orderOf))].sort(), [...orders].sort());
			await Promise.all(shop.requests.map((request) => checkSignature(request, accounts)));
			const { failed } = await store.db
				.selectFrom("deliveries")
				.select((eb) => eb.fn.count<number>("failed_at_ms").as("failed"))
				.executeTakeFirstOrThrow();
			equal(Number(failed), 0);
		},
		async statuses(): Promise<string[]> {
			const rows = await store.db.selectFrom("conversions").select("status").distinct().execute();
			return rows.map(({ status }) => status);
		},
	};
}

function signSale({ apiKey, secret }: ShopAccount, orderId: string): Request {
	const body = { orderId, basketValue: "10.00" };
	return signedRequest("POST", "/v1/conversions", { key: apiKey, secret }, { body, nowMs: Date.now() });
}

async function send(url: string, signed: Request): Promise<Response> {
	const body = await signed.clone().arrayBuffer();
	return fetch(`${url}/v1/conversions`, { method: "POST", headers: signed.headers, body });
}

function orderOf({ body }: ShopRequest): string {
	return (JSON.parse(body.toString()) as { orderId: string }).orderId;
}

/** Verifies the signature as the shop does, with a correct clock. */
async function checkSignature(
	{ path, rawHeaders, body, arrivedAtMs }: ShopRequest,
	accounts: readonly ShopAccount[],
): Promise<void> {
	const headers: Record<string, string> = {};
	for (let at = 0; at < rawHeaders.length; at += 2) headers[rawHeaders[at] ?? ""] = rawHeaders[at + 1] ?? "";
	const secret = accounts[Number(path.slice(1))]?.secret ?? "";
	const verified = await verifyPostback({ path, headers, rawBody: body, secret, now: arrivedAtMs });
	ok(verified.ok, JSON.stringify(verified));
	const stampedMs = Number(headers["X-Service-Timestamp"]) * 1_000;
	ok(Math.abs(stampedMs - arrivedAtMs) < 10_000, `stamped ${stampedMs}, arrived ${arrivedAtMs}`);
}
