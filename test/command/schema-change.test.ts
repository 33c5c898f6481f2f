// Tests that the schema changes while a real process of the previous program runs. The process continues
// after an additive change and stops after a removal. With RINGBACK_MIGRATE=check no start changes the
// schema.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import { MIGRATIONS, type Migration } from "#core/store/schema/migrations.ts";
import { type Home, hasStack, openHome, type Running, type Settings } from "../support/command-home.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { startShop } from "../support/shop.ts";
import { createShopClient, type ShopClient } from "../support/shop-client.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, DATABASE_KINDS, type DatabaseKind } from "../support/test-database.ts";
import { until } from "../support/until.ts";

/**
 * First migration of a later program that renames `network_fee`. That program writes both columns, and reads
 * the new column if it is filled.
 */
const EXPAND: Migration = {
	name: "conversions have a fee",
	isBreaking: false,
	statements: () => [
		"alter table conversions add column fee text",
		"update conversions set fee = network_fee",
		"create index conversions_by_fee on conversions (fee)",
	],
};
/**
 * Second migration of the rename. It is applied only when no program without the new column is left, and
 * fills the rows that older programs wrote since the first.
 */
const CONTRACT: Migration = {
	name: "conversions have no network fee",
	isBreaking: true,
	statements: () => [
		"update conversions set fee = coalesce(fee, network_fee)",
		"alter table conversions drop column network_fee",
	],
};
const KEY = "ab".repeat(32);

describe("schema changes while a process runs", { concurrency: 2 }, () => {
	for (const kind of DATABASE_KINDS) {
		test(`an older process continues after a schema change that only adds, and stops after one that removes (${kind})`, async (t) => {
			const { home, database, settings } = await openDatabaseHome(t, kind);
			const shop = await startShop();
			t.after(() => shop.close());
			writeFileSync(join(home.folder, "ca.pem"), shop.caPem);
			const withShop = {
				...settings,
				PORT: "0",
				RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
				RINGBACK_TRUSTED_CA: join(home.folder, "ca.pem"),
				RINGBACK_METRICS_ADDRESS: "127.0.0.1:0",
			};
			const account = await prepareDatabase(withShop, { postbackUrl: shop.url() });
			const old = home.start(["serve"], withShop);
			const [, url = ""] = await old.said(/^Ringback listens on (\S+)$/m);
			const [, metrics = ""] = await old.said(/metrics +(http\S+)\/metrics$/m);
			const client = createShopClient(url, account.apiKey, account.secret, Date.now);
			for (let n = 0; n < 5; n++) await record(client, `before ${n}`);

			const store = database.open();
			const now = Date.now();
			// The old program on the new schema records and delivers during the change and afterwards.
			const expanding = store.migrate(now, { migrations: [...MIGRATIONS, EXPAND] });
			await Promise.all([expanding, ...[1, 2, 3].map((n) => record(client, `meanwhile ${n}`))]);
			await record(client, "after");
			await until(
				() => shop.requests.length >= 9,
				() => `${shop.requests.length} callbacks came`,
			);
			equal((await fetch(`${url}/readyz`)).status, 200);
			// The new program reads rows of the old one, although it did not fill the new column.
			deepEqual(await readFees("coalesce(fee, network_fee)"), ["0.25"]);
			const { rows } = await sql`select 1 from conversions where fee is null`.execute(store.db);
			ok(rows.length > 0, "the old program knows nothing of it");

			await store.migrate(now, { migrations: [...MIGRATIONS, EXPAND, CONTRACT] });
			deepEqual(await readFees("fee"), ["0.25"]);
			await checkStepsAside(old, url, metrics);
			// The old program refuses to start again.
			const again = await home.runHere(["serve"], withShop);
			equal(again.code, 1);
			match(again.stderr, /Start a newer Ringback/);

			async function readFees(column: string): Promise<string[]> {
				const { rows } = await sql<{ fee: string }>`
					select distinct ${sql.raw(column)} as fee from conversions`.execute(store.db);
				return rows.map(({ fee }) => fee);
			}
		});

		test(`a start with RINGBACK_MIGRATE=check does not change the schema (${kind})`, async (t) => {
			const { home, database, settings } = await openDatabaseHome(t, kind);
			const checking = { ...settings, PORT: "0", RINGBACK_MIGRATE: "check" };
			if (kind === "SQLite") writeFileSync(database.location, "");
			const create = ["user", "create", "--email", "a@b.example", "--kind", "shop"];
			for (const refused of [await home.runHere(["serve"], checking), await home.runHere(create, checking)]) {
				equal(refused.code, 1, refused.stdout);
				match(
					refused.stderr,
					/has schema version 0, and this Ringback needs \d+\. Run `ringback migrate` first/,
				);
				equal(hasStack(refused), false);
			}
			const planned = await home.runHere(["migrate", "--check"], checking);
			equal(planned.code, 1);
			match(planned.stdout, /^The schema has version 0; .*To do: first schema/);
			const tables = await database.open().db.introspection.getTables();
			deepEqual(tables, [], "nothing was made");

			const migrated = await home.runHere(["migrate"], checking);
			equal(migrated.code, 0, migrated.stderr);
			match(migrated.stdout, /^Applied first schema\b.*\. The schema is now at version \d+\.$/m);
			match(migrated.stderr, /^first schema: done; the schema is at version \d+$/m);
			const current = await home.runHere(["migrate", "--check", "--json"], checking);
			equal(current.code, 0);
			deepEqual(JSON.parse(current.stdout), { version: MIGRATIONS.length, applied: [], pending: [] });
			const running = home.start(["serve"], checking);
			await running.said(/^Ringback listens on/m);
			running.kill("SIGTERM");
			equal((await running.ended()).code, 0);
		});
	}

	test("a start with RINGBACK_MIGRATE=check does not create a SQLite file or its folder", async (t) => {
		const home = openHome(t);
		const settings = {
			DATABASE_URL: `sqlite:${join(home.folder, "data", "ringback.db")}`,
			RINGBACK_MIGRATE: "check",
			PORT: "0",
		};
		const refusals = [
			await home.runHere(["migrate", "--check"], settings),
			await home.runHere(["migrate", "--check", "--json"], settings),
			await home.runHere(["serve"], settings),
		];
		for (const refused of refusals) {
			equal(refused.code, 1, refused.stdout);
			match(
				refused.stderr,
				/^There is no database file \S+ringback\.db\. Run `ringback migrate` to make it, or correct DATABASE_URL/,
			);
			equal(hasStack(refused), false);
		}
		deepEqual(readdirSync(home.folder), []);
	});
});

/**
 * Checks that the process first reports that it is not ready, with the reason for operators, and then stops
 * by itself.
 */
async function checkStepsAside(old: Running, url: string, metrics: string): Promise<void> {
	let details = "";
	await until(async () => {
		const ready = await fetch(`${url}/readyz`).catch(() => undefined);
		if (ready?.status !== 503) return false;
		details = await (await fetch(`${metrics}/health`)).text();
		return true;
	});
	match(details, /"reason":"The database has schema version \d+, which needs a Ringback that knows version/);
	const { code, stderr, stdout } = await old.ended();
	equal(code, 1);
	match(stderr, /a newer Ringback has changed the database; this one stops/);
	match(stderr, /^The database has schema version .*Start a newer Ringback/m);
	match(stdout, /^Stopped\.$/m);
}

async function record(client: ShopClient, orderId: string): Promise<void> {
	const { outcome } = await client.post("/v1/conversions", { orderId, basketValue: "10.00" });
	equal(outcome, "RECORDED");
}

async function openDatabaseHome(
	t: TestContext,
	kind: DatabaseKind,
): Promise<{ home: Home; database: TestDatabase; settings: Settings }> {
	const home = openHome(t);
	const database = await createTestDatabase(kind);
	t.after(() => database.remove());
	const settings = { DATABASE_URL: database.url, RINGBACK_SECRET_KEY: KEY };
	return { home, database, settings };
}
