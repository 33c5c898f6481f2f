// Test setup with a SQLite database of a small network, its key file, and a folder for backups.

import { deepEqual } from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { sql } from "kysely";
import { openSqlite } from "#core/store/sqlite/store.ts";
import type { Store } from "#core/store/store.ts";
import { realClock } from "../../src/outside/clock.ts";
import { readKeyFile } from "../../src/outside/key-file.ts";
import { type BackupReport, type BackupRequest, backUpSqlite } from "../../src/service/backup.ts";
import { type RestoreReport, type RestoreRequest, restoreSqlite } from "../../src/service/restore.ts";
import { type VerifiedFile, type VerifyRequest, verifyFile } from "../../src/service/verify.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { addOwedConversion } from "../support/rows.ts";
import { makeFolder } from "../support/run-folder.ts";
import type { ShopAccount } from "../support/shop-account.ts";

export const PASSPHRASE = "correct horse battery staple";

export interface BackupSetup {
	databasePath: string;
	/** Folder for backups, empty at first. */
	folder: string;
	account: ShopAccount;
	key: Uint8Array;
	open(): Store;
	backUp(change?: Partial<BackupRequest>): Promise<BackupReport>;
	restore(to: string, change?: Partial<RestoreRequest>): Promise<RestoreReport>;
	verify(path: string, change?: Partial<VerifyRequest>): Promise<VerifiedFile>;
	path(name: string): string;
	/** Names of the files in the folder for backups, sorted. */
	files(): string[];
}

export const tell = (): void => undefined;
const OWED = 3;
/** The keys are in the file beside the database. */
const NO_KEYS = { secretKey: null, formerSecretKey: null };

/**
 * Opens the setup. Tests must close their connections. Files that are left beside the database at the end
 * count as a leak.
 */
export async function openBackupSetup(t: TestContext, owed = OWED): Promise<BackupSetup> {
	const home = makeFolder("backup");
	const [data, folder] = [join(home, "data"), join(home, "backups")];
	for (const made of [data, folder]) mkdirSync(made);
	const databasePath = join(data, "ringback.db");
	t.after(() => {
		const left = readdirSync(data).filter((name) => /-(?:wal|shm|journal)$|partial/.test(name));
		rmSync(home, { recursive: true });
		deepEqual(left, [], "a connection is still open, or something was left behind");
	});
	const settings = {
		DATABASE_URL: `sqlite:${databasePath}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
	};
	const account = await prepareDatabase(settings, { postbackUrl: "https://127.0.0.1:9/postback" });
	const store = openSqlite(databasePath, realClock);
	for (let n = 0; n < owed; n++) await addOwedConversion(store, account.programme);
	await store.close();
	const path = (name: string) => join(folder, name);
	const key = readKeyFile(`${databasePath}.key`);
	if (key === null) throw new Error("the database has no key");
	return {
		databasePath,
		folder,
		account,
		key,
		open: () => openSqlite(databasePath, realClock),
		backUp: (change) =>
			backUpSqlite(
				{ ...NO_KEYS, databasePath },
				{ path: path("one.backup"), passphrase: PASSPHRASE, mayOverwrite: false, tell, ...change },
			),
		restore: (to, change) =>
			restoreSqlite(NO_KEYS, {
				path: path("one.backup"),
				to,
				readPassphrase: async () => PASSPHRASE,
				mayReplace: false,
				tell,
				...change,
			}),
		verify: (file, change) => verifyFile(NO_KEYS, { path: file, passphrase: PASSPHRASE, tell, ...change }),
		path,
		files: () => readdirSync(folder).sort(),
	};
}

/** Adds this many megabytes of rows that hardly compress. */
export async function enlarge(store: Store, megabytes: number): Promise<void> {
	await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${megabytes})
		insert into audit_entries (at_ms, action, detail) select i, 'sample', hex(randomblob(500000)) from n`.execute(
		store.db,
	);
}

export function writePassphrase(folder: string): string {
	const file = join(folder, "passphrase");
	writeFileSync(file, `${PASSPHRASE}\n`, { mode: 0o600 });
	return file;
}
