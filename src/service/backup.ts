// Implements `ringback backup` on SQLite. The command copies a snapshot of the database, checks the copy, packs it
// into one file with the sealed key, and reads that file back. Only then does the file get its final name.

import { closeSync, mkdirSync, openSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Manifest } from "#core/domain/backup-file.ts";
import { SALT_BYTES, sealKeys } from "#core/domain/passphrase.ts";
import { SEALING_IV_BYTES } from "#core/domain/sealing.ts";
import { isoTime } from "#core/domain/time.ts";
import type { BrokenRule } from "#core/store/queries/ledger.ts";
import { recordBackup, recordFailedBackup } from "#core/store/queries/system.ts";
import { copySqlite, LOG_SUFFIXES, readUsedBytes } from "#core/store/sqlite/file.ts";
import { openSqlite } from "#core/store/sqlite/store.ts";
import type { Store } from "#core/store/store.ts";
import packageJson from "../../package.json" with { type: "json" };
import { openBackupFile, readBackupFile, writeBackupFile } from "../outside/backup-file.ts";
import { realClock } from "../outside/clock.ts";
import { partialName, replaceDurably } from "../outside/durable-file.ts";
import { createRandom } from "../outside/random.ts";
import {
	BackupError,
	explainFailure,
	lstatOf,
	refuseFullDisk,
	sayReason,
	type Tell,
	withPartialFiles,
} from "./file-work.ts";
import type { KeySettings } from "./sealing-keys.ts";
import { type CheckedDatabase, checkSqliteFile, findKeysFor } from "./verify.ts";

export interface BackupRequest {
	path: string;
	/** Passphrase that seals the key, or null to leave the key out. */
	passphrase: string | null;
	mayOverwrite: boolean;
	tell: Tell;
}

export interface BackupReport {
	path: string;
	bytes: number;
	manifest: Manifest;
	/**
	 * Rules of the ledger that the database violates. The backup is still made, because a faithful copy is better than
	 * none.
	 */
	broken: readonly BrokenRule[];
	/** False if the database has no sealing key yet, because it contains no secrets. */
	hasKey: boolean;
	/** Reason why the database could not record the backup, or null. The backup itself is complete. */
	noteProblem: string | null;
	tookMs: number;
}

/**
 * Disk space that a backup needs, as a multiple of the database's size. It is the size of the copy and of the
 * packed file, which is a fifth of the copy in measurements and a third at worst.
 */
const NEEDED_SHARE = 1.35;
/** Maximum length of the reason of a failure, so that it fits on one line of a page. */
const MAX_FAILURE_LENGTH = 200;

export async function backUpSqlite(
	config: KeySettings & { databasePath: string },
	request: BackupRequest,
): Promise<BackupReport> {
	const { databasePath } = config;
	const path = resolve(request.path);
	const startedAtMs = realClock.nowMs();
	refuseTarget(path, databasePath, request.mayOverwrite);
	const written = await writeBackup(config, request, path).catch(async (error: unknown) => {
		// Staff are warned about the failure. If the database cannot even record the failure, staff are soon warned that
		// the last backup is old.
		const failure = { atMs: startedAtMs, note: sayReason(error).slice(0, MAX_FAILURE_LENGTH) };
		await withStore(databasePath, ({ db }) => recordFailedBackup(db, failure)).catch(() => undefined);
		throw error;
	});
	const bytes = statSync(path).size;
	const noted = { atMs: Date.parse(written.manifest.createdAt), bytes, note: path };
	const noteProblem = await withStore(databasePath, (store) =>
		store.transact((trx) => recordBackup(trx, noted)),
	).then(() => null, sayReason);
	const tookMs = realClock.nowMs() - startedAtMs;
	return { path, bytes, ...written, noteProblem, tookMs };
}

async function writeBackup(
	config: KeySettings & { databasePath: string },
	{ tell, passphrase, mayOverwrite }: BackupRequest,
	path: string,
): Promise<Pick<BackupReport, "manifest" | "broken" | "hasKey">> {
	const { databasePath } = config;
	const folder = dirname(path);
	await refuseFullDisk(folder, readUsedBytes(databasePath) * NEEDED_SHARE, "A backup");
	const keys = findKeysFor(databasePath, config);
	return withPartialFiles(tell, async (partial) => {
		const copy = partial(partialName(`${path}.copy`));
		const packed = partial(partialName(path));
		// Everything that was acknowledged before this time is stored, so the copy contains it.
		const createdAt = isoTime(realClock.nowMs());
		tell("copying the database");
		await explainFailure(folder, async () => {
			// The file is created here with its permissions, because SQLite would make it readable for everybody on
			// the machine.
			closeSync(openSync(copy, "wx", 0o600));
			await copySqlite(databasePath, copy);
		});
		const checked = await checkSqliteFile(copy, keys, tell);
		const needed = checked.sealed.usedKeys.length > 0 ? checked.sealed.usedKeys : keys.slice(0, 1);
		const manifest: Manifest = {
			program: packageJson.version,
			createdAt,
			schema: refuseBroken(checked),
			databaseBytes: statSync(copy).size,
			key: passphrase === null || needed.length === 0 ? null : sealWith(passphrase, needed),
		};
		tell("packing");
		await explainFailure(folder, () => writeBackupFile(manifest, { from: copy, to: packed }));
		rmSync(copy);
		tell("reading it back");
		await refuseUnreadable(packed);
		// The target is checked again, because making the copy may have taken minutes.
		refuseTarget(path, databasePath, mayOverwrite);
		replaceDurably(packed, path);
		return { manifest, broken: checked.ledger?.broken ?? [], hasKey: keys.length > 0 };
	});
}

/** Opens the database briefly to record the result of a backup, which the System page and `ringback doctor` show. */
async function withStore(databasePath: string, work: (store: Store) => Promise<unknown>): Promise<void> {
	const store = openSqlite(databasePath, realClock);
	try {
		await work(store);
	} finally {
		await store.close();
	}
}

/** Throws if the backup must not be written to `path`. A symbolic link at `path` is not followed. */
function refuseTarget(path: string, databasePath: string, mayOverwrite: boolean): void {
	const folder = dirname(path);
	const found = lstatOf(path);
	if (lstatOf(folder) === null) throw new BackupError(`There is no folder ${folder}. Make it first.`);
	// The key file is next to the path in the settings, which may be a symbolic link. SQLite's files are next
	// to the link's target. A backup must not have one of these names, even if no such file exists, because
	// SQLite or the service would use the backup as its own file.
	const databaseFiles = [databasePath, realpathSync(databasePath)].flatMap((name) =>
		["", ".key", ".key.new", ...LOG_SUFFIXES].map((suffix) => `${name}${suffix}`),
	);
	if (databaseFiles.includes(path) || databaseFiles.includes(join(realpathSync(folder), basename(path)))) {
		throw new BackupError(`${path} belongs to the database. Name another file.`);
	}
	if (found === null) return;
	if (found.isDirectory()) throw new BackupError(`${path} is a folder. Name a file in it.`);
	if (!found.isFile()) throw new BackupError(`${path} is a link or a device. Name a file.`);
	if (!mayOverwrite) {
		throw new BackupError(`${path} is there already. Choose another name, or --force to overwrite it.`);
	}
}

/**
 * Throws if the backup could not be restored. Without this check, nobody would notice before the backup is
 * needed.
 */
function refuseBroken({ damage, schema, schemaProblem, sealed }: CheckedDatabase): Manifest["schema"] {
	const [firstDamage] = damage ?? [];
	if (firstDamage !== undefined) {
		throw new BackupError(`The database is damaged: ${firstDamage}. Keep your earlier backups.`);
	}
	const { version, oldestProgram, firstName } = schema;
	if (schemaProblem !== null || firstName === null) {
		throw new BackupError(`This database cannot be backed up: ${schemaProblem ?? "it is empty"}.`);
	}
	if (sealed.isWrongKey) {
		throw new BackupError(
			"The sealing key does not open the signing secrets in this database. Set the right RINGBACK_SECRET_KEY, or restore the key file beside the database.",
		);
	}
	return { version, oldestProgram, firstName };
}

function sealWith(passphrase: string, keys: readonly Uint8Array[]): Manifest["key"] {
	const random = createRandom();
	return sealKeys(passphrase, keys, { salt: random.bytes(SALT_BYTES), iv: random.bytes(SEALING_IV_BYTES) });
}

/** Reads the packed file back, and throws if its content differs from what was written. */
async function refuseUnreadable(packed: string): Promise<void> {
	const found = await openBackupFile(packed);
	if (typeof found !== "string" && (await readBackupFile(packed, found, null))) return;
	throw new BackupError(`The disk below ${dirname(packed)} does not give back what was written to it.`);
}

// A folder of regular backups. Each file is named after its time, and only the newest files are kept. Files
// with other names are never removed.

const NAME = /^ringback-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z\.backup$/;

/**
 * Returns the path of a new backup. If the folder is missing, it is created so that only this account may
 * read it.
 */
export function nameBackup(folder: string): string {
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const time = isoTime(realClock.nowMs()).slice(0, 19).replaceAll(":", "-");
	return join(resolve(folder), `ringback-${time}Z.backup`);
}

/**
 * Removes old backups when the new backup is complete. Returns the names of the removed files. A file with a later
 * name than `newBackup` was written while the clock was ahead. Such a file is neither counted nor removed, because it
 * would displace backups that are really newer.
 */
export function removeOldBackups(newBackup: string, keep: number): string[] {
	const folder = dirname(newBackup);
	const old = readdirSync(folder)
		.filter((name) => NAME.test(name) && name < basename(newBackup))
		.sort()
		.reverse()
		.slice(keep - 1);
	for (const name of old) rmSync(join(folder, name), { force: true });
	return old;
}
