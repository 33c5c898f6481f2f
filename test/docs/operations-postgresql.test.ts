// Runs the documented commands of PostgreSQL's own programs: a dump, and the recovery of a point in time from a base backup
// and the archived log.

import { doesNotMatch, equal, match } from "node:assert/strict";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import pg from "pg";
import { DEBIAN_POSTGRES_MISSING, findDebianPostgres } from "../support/debian-postgres.ts";
import { blocksToRun, blockToRun, readSettings, runInShell } from "../support/guide-blocks.ts";
import { skipHere } from "../support/not-run.ts";
import { startPostgres } from "../support/postgres.ts";
import { reachableTempFolder, serverAccount } from "../support/postgres-binaries.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { addOwedConversion } from "../support/rows.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { openStore } from "../support/test-database.ts";

const KEY = "ab".repeat(32);
const DEBIAN = findDebianPostgres();

test("the documented dump and base backup restore the pending callbacks", async (t) => {
	if (DEBIAN === undefined) return skipHere(t, DEBIAN_POSTGRES_MISSING);
	const { programs, binaries } = DEBIAN;
	const account = serverAccount();
	const folder = mkdtempSync(join(reachableTempFolder(account), "ringback-point-in-time-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const backup = join(folder, "backup");
	for (const each of [folder, backup, join(backup, "wal")]) {
		mkdirSync(each, { recursive: true });
		if (account !== undefined) chownSync(each, account.uid, account.gid);
	}
	const [archiving = "", take = "", goBack = "", look = ""] = blocksToRun("point in time").map((text) =>
		text.replaceAll("/backup", backup),
	);
	const server = await startPostgres({ settings: { fsync: "off", ...readSettings(archiving) }, binaries });
	t.after(() => server.stop());
	const settings = settingsFor(await server.createDatabase("ringback"));
	const url = settings.DATABASE_URL;
	const shop = await prepareDatabase(settings, POSTBACK);
	await addOwed(url, shop);

	await t.test("a dump is taken, checked and restored elsewhere", async () => {
		const shell = (of: ReturnType<typeof settingsFor>) => ({
			...{ folder, programs },
			settings: { ...of, ...dumpSettings(folder, of.DATABASE_URL) },
		});
		await runInShell(blockToRun("dump"), shell(settings));
		const second = settingsFor(await server.createDatabase("second"));
		const { settings: own, ...where } = shell(second);
		const timed = { ...where, settings: { ...own, DUMPED_AT: "2026-03-01 02:30" } };
		const restored = await runInShell(blockToRun("dump restore"), timed);
		match(restored, /^PAYMENTS that were recorded after 2026-03-01T02:30:00\.000Z/m);
		match(restored, /^ok +ledger +\d+ rules hold/m);
		match(restored, /^ok +key +it opens all \d+ sealed values$/m);
		match(restored, /^1 callback is owed to 1 receiver:$/m);
	});

	await t.test("a base backup and the archived log lead back to the moment before the damage", async () => {
		const asServer = { folder, programs, account };
		await runInShell(take, { ...asServer, settings: connectionOf(url) });
		await addOwed(url, shop);
		const target = await ask(url, "select clock_timestamp()::text");
		await addOwed(url, shop);
		await ask(url, "drop table events cascade");
		await server.restart("fast", async () => {
			await runInShell(goBack, { ...asServer, settings: { PGDATA: server.dataFolder, TARGET: target } });
		});
		const found = await runInShell(look, { folder, settings: { ...settings, TARGET: target } });
		match(found, /^PAYMENTS that were recorded after /m);
		match(found, /^ok +ledger +\d+ rules hold/m);
		match(
			found,
			/^2 callbacks are owed to 1 receiver:$/m,
			"of before and after the base backup, not the last",
		);
		doesNotMatch(found, /PROBLEM/);
		equal(await ask(url, "select pg_is_in_recovery()::text"), "false");
	});
});

const POSTBACK = { postbackUrl: "https://127.0.0.1:9/postback" };

function settingsFor(url: string) {
	return {
		DATABASE_URL: url,
		RINGBACK_SECRET_KEY: KEY,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
	};
}

async function addOwed(url: string, { programme }: ShopAccount): Promise<void> {
	const store = openStore("PostgreSQL", url);
	await addOwedConversion(store, programme);
	await store.close();
}

async function ask(url: string, query: string): Promise<string> {
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	try {
		const { rows } = await client.query({ text: query, rowMode: "array" });
		return String(rows[0]?.[0]);
	} finally {
		await client.end();
	}
}

/** Returns the environment variables with which PostgreSQL's own programs connect. */
function connectionOf(url: string): Record<string, string> {
	const { hostname, port, username, password } = new URL(url);
	return { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password };
}

/** Returns the settings of the guide, with the password in a file. */
function dumpSettings(folder: string, url: string): Record<string, string> {
	const { hostname, port, username, password, pathname } = new URL(url);
	const [database, file] = [pathname.slice(1), join(folder, "pgpass")];
	writeFileSync(file, `${hostname}:${port}:${database}:${username}:${password}\n`, { mode: 0o600 });
	return { PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: database, PGPASSFILE: file };
}
