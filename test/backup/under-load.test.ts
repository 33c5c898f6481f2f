// Tests the whole backup procedure with real components. A service that receives reports and sends callbacks
// is backed up and killed. It is then restored elsewhere, started with its callbacks on hold, inspected and
// released. Nothing that was answered before the backup is lost.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { type Ended, openHome, type Running } from "../support/command-home.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { type ShopRequest, startShop } from "../support/shop.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { createShopClient } from "../support/shop-client.ts";
import { until } from "../support/until.ts";
import { writePassphrase } from "./backup-setup.ts";

/** Answer that the shop's server received, and the time at which it arrived. */
interface Answered {
	conversionId: string;
	event: string;
	status: string;
	orderId: string;
	atMs: number;
}

const BEFORE = 60;
const AFTER = 15;

test("a backup that is taken under load, restored, held and released has everything that was answered before it", async (t) => {
	const { home, shop, account, settings, start } = await open(t);
	const service = await start({});
	const load = startLoad(service.url, account);
	t.after(() => load.end());
	await until(() => load.answered.length >= BEFORE);
	const passphraseFile = writePassphrase(home.folder);
	const backup = join(home.folder, "one.backup");
	const made = await home.run(["backup", backup, "--passphrase-file", passphraseFile, "--json"], settings);
	const { createdAt, key } = readJson(made);
	equal(key, "sealed");
	const duringBackup = load.answered.filter(({ atMs }) => atMs >= Date.parse(String(createdAt))).length;
	ok(duringBackup > 0, "the service accepted reports during the backup");
	const far = load.answered.length + AFTER;
	await until(() => load.answered.length >= far);
	service.running.kill("SIGKILL");
	await service.running.ended();
	await load.end();

	const verified = await home.runHere(["verify", backup, "--passphrase-file", passphraseFile], settings);
	equal(verified.code, 0, verified.stdout);
	match(verified.stdout, /^ok +ledger +\d+ rules hold/m);
	match(verified.stdout, /^ok +key +it opens all \d+ sealed values$/m);

	const elsewhere = join(home.folder, "elsewhere.db");
	const words = ["--to", elsewhere, "--passphrase-file", passphraseFile];
	const restored = readJson(await home.runHere(["restore", backup, ...words, "--json"], settings));
	const owed = restored["owed"] as { waiting: number; programmes: { id: string; waiting: number }[] };
	const inFile = count(elsewhere, "queue");
	equal(owed.waiting, inFile, "all pending callbacks are listed");
	const before = load.answered.filter(({ atMs }) => atMs < Date.parse(String(createdAt)));
	deepEqual(
		before.filter((answer) => !isStored(elsewhere, answer)),
		[],
		"everything that was answered before the backup is stored",
	);

	// The engine of the killed service counts as silent, as if a minute had passed.
	using database = new DatabaseSync(elsewhere);
	database.exec("update engines set renewed_at_ms = 0");
	database.close();
	const sent = shop.requests.length;
	const there = { DATABASE_URL: `sqlite:${elsewhere}` };
	equal((await home.runHere(["hold"], { ...settings, ...there })).code, 0);
	const held = await start(there);
	await held.running.said(
		/^ {2}WARNING {2}All callbacks have been held since .* UTC by `ringback hold`, and \d+ waits?\. /m,
	);
	equal((await fetch(`${held.url}/readyz`)).status, 200);
	const late = await createShopClient(held.url, account.apiKey, account.secret, Date.now).post(
		"/v1/conversions",
		sale("while-held"),
	);
	equal(late.outcome, "RECORDED");
	const listed = readJson(await home.runHere(["owed", "--json"], { ...settings, ...there }));
	equal(listed["waiting"], inFile + 1);
	ok(typeof listed["pausedSince"] === "string");
	equal(shop.requests.length, sent, "nothing is sent while callbacks are held");
	match((await home.runHere(["release"], { ...settings, ...there })).stdout, /^Callbacks are sent again:/);
	await until(() => count(elsewhere, "queue") === 0);
	const arrived = new Set(shop.requests.map(nameOf));
	deepEqual(
		before.filter((answer) => !arrived.has(keyOf(answer))).map(keyOf),
		[],
		"every status change reached the shop",
	);
	ok(arrived.has(`${late.conversion.id} conversion.recorded`));
	held.running.kill("SIGTERM");
	equal((await held.running.ended()).code, 0);
	const live = await home.runHere(["verify"], { ...settings, ...there });
	equal(live.code, 0, live.stdout);
});

async function open(t: TestContext) {
	const home = openHome(t);
	// The shop answers slowly, so that some deliveries are always pending.
	const shop = await startShop({ answer: () => ({ status: 204, delayMs: 30 }) });
	t.after(() => shop.close());
	const trustedCa = join(home.folder, "ca.pem");
	writeFileSync(trustedCa, shop.caPem);
	const settings = {
		DATABASE_URL: `sqlite:${home.databasePath}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: trustedCa,
		PORT: "0",
	};
	const account = await prepareDatabase(settings, { postbackUrl: shop.url() });
	async function start(change: Readonly<Record<string, string>>): Promise<{ running: Running; url: string }> {
		const running = home.start(["serve"], { ...settings, ...change });
		const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
		return { running, url };
	}
	return { home, shop, account, settings, start };
}

/** Sends sales and approvals from several senders, until `end` is called or the service is gone. */
function startLoad(url: string, account: ShopAccount) {
	const client = createShopClient(url, account.apiKey, account.secret, Date.now);
	const answered: Answered[] = [];
	let isOver = false;
	async function post(path: string, body: object, orderId: string, event: string): Promise<void> {
		const { conversion } = await client.post(path, body);
		const { id: conversionId, status } = conversion;
		answered.push({ conversionId, status, orderId, event, atMs: Date.now() });
	}
	async function send(sender: number): Promise<void> {
		for (let n = 0; !isOver; n++) {
			const orderId = `order-${sender}-${n}`;
			await post("/v1/conversions", sale(orderId), orderId, "conversion.recorded");
			if (n % 2 === 0) await post("/v1/approvals", { orderId }, orderId, "conversion.approved");
		}
	}
	// A service that was killed does not answer, and that ends the load, too.
	const senders = [1, 2, 3].map((sender) => send(sender).catch(() => undefined));
	return {
		answered,
		async end() {
			isOver = true;
			await Promise.all(senders);
		},
	};
}

function sale(orderId: string): object {
	return { orderId, basketValue: "10.00", currency: "EUR" };
}

function keyOf({ conversionId, event }: Answered): string {
	return `${conversionId} ${event}`;
}

function nameOf({ body }: ShopRequest): string {
	const { conversionId, event } = JSON.parse(body.toString());
	return `${conversionId} ${event}`;
}

/**
 * Returns true if the conversion is stored with the answered status or as approved. It may have been approved
 * just before the copy.
 */
function isStored(path: string, { conversionId, status, orderId }: Answered): boolean {
	using database = new DatabaseSync(path);
	const row = database
		.prepare("select order_id, status from conversions where public_id = ?")
		.get(conversionId);
	return row?.["order_id"] === orderId && [status, "APPROVED"].includes(String(row["status"]));
}

function count(path: string, table: string): number {
	using database = new DatabaseSync(path, { timeout: 5_000 });
	return Number(database.prepare(`select count(*) as n from ${table}`).get()?.["n"]);
}

function readJson({ code, stdout, stderr }: Ended): Record<string, unknown> {
	equal(code, 0, stderr);
	return JSON.parse(stdout);
}
