// Is a database whole: its pages, its schema, the ledger, and whether the sealing key opens what it should.

import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { openSecret } from "../domain/sealing.ts";
import { KeyFileError, readKeyFile } from "../outside/key-file.ts";
import type { Clock } from "../ports.ts";
import { checkLedger, type LedgerReport } from "../store/ledger.ts";
import { checkSchema, findSchema, type PresentSchema } from "../store/schema-state.ts";
import { listSecrets } from "../store/signing-secrets.ts";
import { openSqliteToRead } from "../store/sqlite.ts";
import { findDamage } from "../store/sqlite-file.ts";
import type { Store } from "../store/store.ts";
import { BackupError } from "./backup-error.ts";
import type { Teller } from "./long-work.ts";

export interface CheckedDatabase {
	/** What SQLite says is wrong with its pages; null where the database looks after them itself. */
	damage: readonly string[] | null;
	schema: PresentSchema;
	/** Why this program cannot work with it; null when it can. */
	schemaProblem: string | null;
	/** Null where the schema is not this program's to read. */
	ledger: LedgerReport | null;
	secrets: SecretCheck;
}

export interface SecretCheck {
	total: number;
	/** Those that the key does not open; null without a key. */
	unopened: number | null;
}

/** A SQLite file that nobody works on. */
export async function checkSqliteFile(
	path: string,
	key: Uint8Array | null,
	deps: { clock: Clock; teller: Teller },
): Promise<CheckedDatabase> {
	deps.teller.begin("checking the database's pages");
	const damage = findDamage(path);
	// What is read from damaged pages means nothing.
	if (damage.length > 0) {
		const schema = { version: 0, oldestProgram: 0, firstName: null };
		const secrets = { total: 0, unopened: null };
		return { damage, schema, schemaProblem: "it cannot be read", ledger: null, secrets };
	}
	const store = openSqliteToRead(path);
	try {
		return { ...(await checkStore(store, key, deps)), damage };
	} finally {
		await store.close();
	}
}

/** Also one that is at work. */
export async function checkStore(
	store: Store,
	key: Uint8Array | null,
	{ clock, teller }: { clock: Clock; teller: Teller },
): Promise<CheckedDatabase> {
	const schema = await findSchema(store.db);
	const schemaProblem = findSchemaProblem(store, schema);
	const isReadable = schemaProblem === null && schema.version > 0;
	if (!isReadable) {
		return { damage: null, schema, schemaProblem, ledger: null, secrets: { total: 0, unopened: null } };
	}
	teller.begin("checking the ledger");
	const onProgress = (share: number) => teller.goOn(share, 1);
	const ledger = await checkLedger(store, { nowMs: clock.nowMs(), onProgress });
	return { damage: null, schema, schemaProblem, ledger, secrets: await checkSecrets(store, key) };
}

function findSchemaProblem({ dialect }: Store, schema: PresentSchema): string | null {
	if (schema.version === 0) return "it has no table of Ringback";
	try {
		checkSchema(schema, dialect);
		return null;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}

async function checkSecrets({ db }: Store, key: Uint8Array | null): Promise<SecretCheck> {
	let total = 0;
	let unopened = 0;
	for await (const { receiver_id, sealed } of listSecrets(db)) {
		total++;
		if (key !== null && openSecret(key, receiver_id, sealed) === null) unopened++;
	}
	return { total, unopened: key === null ? null : unopened };
}

/** RINGBACK_SECRET_KEY, or the key file beside the SQLite file; null when there is neither. */
export function findKeyFor(path: string, { secretKey }: Pick<Config, "secretKey">): Uint8Array | null {
	if (secretKey !== null) return secretKey;
	try {
		return readKeyFile(`${resolve(path)}.key`);
	} catch (error) {
		throw error instanceof KeyFileError ? new BackupError(error.message) : error;
	}
}
