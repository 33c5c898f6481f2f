// Implements `ringback verify`, which checks a backup, a SQLite file or the live database: its pages, its
// schema, the ledger, and whether the sealing key opens the secrets. A backup is unpacked into its own
// folder, because only unpacking shows whether its database can be read.

import { dirname, resolve } from "node:path";
import type { BackupContents, Manifest } from "#core/domain/backup-file.ts";
import { openKeys } from "#core/domain/passphrase.ts";
import type { LedgerReport } from "#core/store/queries/ledger.ts";
import { openValue, readSealedValues } from "#core/store/queries/sealed-values.ts";
import { checkSchema, findSchema, type PresentSchema } from "#core/store/schema/migrations.ts";
import { findDamage, stateOfFile } from "#core/store/sqlite/file.ts";
import { openSqliteToRead } from "#core/store/sqlite/store.ts";
import type { Store } from "#core/store/store.ts";
import type { Config } from "../config.ts";
import { openBackupFile, readBackupFile } from "../outside/backup-file.ts";
import { type Owner, partialName, writeNewFile } from "../outside/durable-file.ts";
import { readErrorCode } from "../outside/error-code.ts";
import { KeyFileError, readKeyFile } from "../outside/key-file.ts";
import { checkLedger } from "./check-ledger.ts";
import { BackupError, explainFailure, refuseFullDisk, type Tell, withPartialFiles } from "./file-work.ts";
import { type KeySettings, readKeys } from "./sealing-keys.ts";
import { openWorkplace } from "./workplace.ts";

export interface CheckedDatabase {
	/** Damage that SQLite found in the pages of the file, or null on PostgreSQL, which checks its pages itself. */
	damage: readonly string[] | null;
	schema: PresentSchema;
	schemaProblem: string | null;
	/** Result of checking the ledger, or null if this program cannot read the schema. */
	ledger: LedgerReport | null;
	sealed: SealedCheck;
}

/**
 * Result of opening all sealed values: signing secrets, authenticators, queued mails, payment details and statements.
 */
export interface SealedCheck {
	total: number;
	/** Number of values that none of the keys opens, or null if there is no key. */
	unopened: number | null;
	/** True if the keys are wrong, because they open no value, or not all signing secrets. */
	isWrongKey: boolean;
	usedKeys: readonly Uint8Array[];
}

export type VerifiedFile =
	| { kind: "backup"; manifest: Manifest; key: KeyCheck; database: CheckedDatabase }
	| { kind: "sqlite"; database: CheckedDatabase };

/** Result of opening the key in a backup. */
export type KeyCheck = "left out" | "not tried" | "opened" | "another passphrase";

export interface VerifyRequest {
	path: string;
	/** Passphrase for the key in a backup, or null to skip that check. */
	passphrase: string | null;
	tell: Tell;
}

/** Checks the database in the settings. Services may use it at the same time. */
export async function verifyLive(config: Config, tell: Tell): Promise<CheckedDatabase> {
	const { store, keyRing, close } = await openWorkplace(config, { schema: "inspect", mustExist: true });
	try {
		const { database } = config;
		if (database.kind === "sqlite") tell("checking the database's pages");
		const damage = database.kind === "sqlite" ? findDamage(database.path) : null;
		return { ...(await checkStore(store, keyRing.keys, tell)), damage };
	} finally {
		await close();
	}
}

export async function verifyFile(
	config: KeySettings,
	{ path: given, passphrase, tell }: VerifyRequest,
): Promise<VerifiedFile> {
	const path = resolve(given);
	if ((await findBackup(path)) === "no backup") {
		if (stateOfFile(path) !== "database") {
			throw new BackupError(`${path} is neither a backup nor a SQLite file.`);
		}
		return { kind: "sqlite", database: await checkSqliteFile(path, findKeysFor(path, config), tell) };
	}
	const backup = await openBackup(path);
	const { manifest } = backup;
	const opened = manifest.key === null || passphrase === null ? null : openKeys(passphrase, manifest.key);
	const folder = dirname(path);
	await refuseFullDisk(folder, manifest.databaseBytes, "Checking the database in the backup");
	const database = await withPartialFiles(tell, async (partial) => {
		const unpacked = partial(partialName(`${path}.check`));
		await explainFailure(folder, () => unpack(backup, { path: unpacked, owner: null }, tell));
		return checkSqliteFile(unpacked, opened ?? readKeys(config, null), tell);
	});
	return { kind: "backup", manifest, database, key: judgeKey(manifest, passphrase, opened) };
}

function judgeKey(
	{ key }: Manifest,
	passphrase: string | null,
	opened: readonly Uint8Array[] | null,
): KeyCheck {
	if (key === null) return "left out";
	if (passphrase === null) return "not tried";
	return opened === null ? "another passphrase" : "opened";
}

/** File with the structure of a complete backup. It may still be damaged, which only unpacking shows. */
export interface BackupFile extends BackupContents {
	path: string;
}

export async function openBackup(given: string): Promise<BackupFile> {
	const path = resolve(given);
	const found = await findBackup(path);
	if (found === "no backup") throw new BackupError(`${path} is not a backup that \`ringback backup\` made.`);
	if (found === "damaged") throw new BackupError(describeDamage(path));
	if (found === "later form") {
		throw new BackupError(`${path} was made by a later Ringback, in a form that this one does not know.`);
	}
	return { ...found, path };
}

async function findBackup(path: string) {
	try {
		return await openBackupFile(path);
	} catch (error) {
		const code = readErrorCode(error);
		if (code === "ENOENT") throw new BackupError(`There is no file ${path}.`);
		if (code === "EISDIR") throw new BackupError(`${path} is a folder. Name a file in it.`);
		throw error;
	}
}

function describeDamage(path: string): string {
	return `${path} is damaged or was cut: it is not as it was written. Copy it again, or take another backup.`;
}

export interface Draft {
	path: string;
	owner: Owner | null;
}

export async function unpack(backup: BackupFile, to: Draft, tell: Tell): Promise<void> {
	tell("unpacking");
	const isWhole = await writeNewFile(to.path, to.owner, (handle) =>
		readBackupFile(backup.path, backup, handle),
	);
	if (!isWhole) throw new BackupError(describeDamage(backup.path));
}

export async function checkSqliteFile(
	path: string,
	keys: readonly Uint8Array[],
	tell: Tell,
): Promise<CheckedDatabase> {
	tell("checking the database's pages");
	const damage = findDamage(path);
	// If the file is damaged, no further checks are made, because their results would be meaningless.
	if (damage.length > 0) {
		const schema = { version: 0, oldestProgram: 0, firstName: null, createdAtMs: null };
		return { damage, schema, schemaProblem: "it cannot be read", ledger: null, sealed: NOTHING_SEALED };
	}
	const store = openSqliteToRead(path);
	try {
		return { ...(await checkStore(store, keys, tell)), damage };
	} finally {
		await store.close();
	}
}

export async function checkStore(
	store: Store,
	keys: readonly Uint8Array[],
	tell: Tell,
): Promise<CheckedDatabase> {
	const schema = await findSchema(store.db);
	const schemaProblem = findSchemaProblem(schema);
	if (schemaProblem !== null) {
		return { damage: null, schema, schemaProblem, ledger: null, sealed: NOTHING_SEALED };
	}
	tell("checking the ledger");
	const ledger = await checkLedger(store);
	return { damage: null, schema, schemaProblem, ledger, sealed: await checkSealed(store, keys) };
}

function findSchemaProblem(schema: PresentSchema): string | null {
	if (schema.version === 0) return "it has no tables of Ringback";
	try {
		checkSchema(schema);
		return null;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}

const NOTHING_SEALED: SealedCheck = { total: 0, unopened: null, isWrongKey: false, usedKeys: [] };

async function checkSealed({ db }: Store, keys: readonly Uint8Array[]): Promise<SealedCheck> {
	let total = 0;
	let unopened = 0;
	let unopenedSecrets = 0;
	const used = new Set<Uint8Array>();
	for await (const values of readSealedValues(db)) {
		for (const value of values) {
			const key = keys.find((one) => openValue({ keys: [one] }, value) !== null);
			total++;
			if (key !== undefined) used.add(key);
			else {
				unopened++;
				if (value.at.table === "signing_secrets") unopenedSecrets++;
			}
		}
	}
	if (keys.length === 0) return { ...NOTHING_SEALED, total };
	const isWrongKey = unopenedSecrets > 0 || (total > 0 && unopened === total);
	return { total, unopened, isWrongKey, usedKeys: keys.filter((key) => used.has(key)) };
}

/** Returns the keys in the settings, or those in the files beside the SQLite file. The list may be empty. */
export function findKeysFor(path: string, settings: KeySettings): Uint8Array[] {
	return explainKeyFile(() => readKeys(settings, path));
}

export function readKeyAt(path: string): Uint8Array | null {
	return explainKeyFile(() => readKeyFile(path));
}

function explainKeyFile<Value>(read: () => Value): Value {
	try {
		return read();
	} catch (error) {
		throw error instanceof KeyFileError ? new BackupError(error.message) : error;
	}
}
