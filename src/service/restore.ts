// Implements `ringback restore` on SQLite. The whole backup is checked before anything changes. An existing
// database is renamed, with the time in its new name. The restored database gets its final name only when it
// is complete and synced to the disk.

import { existsSync, realpathSync, renameSync, rmSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Manifest } from "#core/domain/backup-file.ts";
import { openKeys } from "#core/domain/passphrase.ts";
import { isoTime } from "#core/domain/time.ts";
import type { BrokenRule } from "#core/store/queries/ledger.ts";
import { MIGRATIONS, SchemaTooNewError } from "#core/store/schema/migrations.ts";
import { closeLog, LOG_SUFFIXES, recordRestoreIn } from "#core/store/sqlite/file.ts";
import { openSqliteToRead } from "#core/store/sqlite/store.ts";
import { listErasedIds, listPresentIds } from "#modules/personal-data/store/erasures.ts";
import { realClock } from "../outside/clock.ts";
import { nameAlso, type Owner, partialName, syncFolder, writeNewFile } from "../outside/durable-file.ts";
import {
	BackupError,
	explainFailure,
	lstatOf,
	refuseFullDisk,
	sayReason,
	type Tell,
	withPartialFiles,
} from "./file-work.ts";
import { type KeySettings, keyFilesOf } from "./sealing-keys.ts";
import {
	type BackupFile,
	checkSqliteFile,
	type Draft,
	findKeysFor,
	openBackup,
	readKeyAt,
	type SealedCheck,
	unpack,
} from "./verify.ts";

export interface RestoreRequest {
	path: string;
	to: string;
	/** Returns the passphrase. It is called only if the backup has a sealed key. */
	readPassphrase: () => Promise<string>;
	mayReplace: boolean;
	tell: Tell;
}

export interface RestoreReport {
	to: string;
	manifest: Manifest;
	/** New paths of existing files, which were renamed instead of overwritten. */
	keptAside: readonly string[];
	key: RestoredKey;
	/** True if the restore replaced the key in a key file by another key. */
	hasReplacedKey: boolean;
	/** Rules of the ledger that the database violated when the backup was made. */
	broken: readonly BrokenRule[];
	/** True if the schema of the backup is older than this program's. The service migrates it when it starts. */
	isToBeMigrated: boolean;
	/**
	 * Public ids of people and partners who were erased after the backup, so that their data is here again. Null if no
	 * earlier database exists that lists them.
	 */
	toEraseAgain: readonly string[] | null;
	restoredAtMs: number;
}

export type RestoredKey =
	/**
	 * The key was written beside the database. If the backup was made while the key was being replaced, both keys were
	 * written.
	 */
	| "written"
	/** The key in the setting or in the existing key file opens the secrets. */
	| "there already"
	/** RINGBACK_SECRET_KEY is another key and takes precedence over the file that was written. */
	| "setting differs"
	/** Neither the backup nor this machine has a key that opens the secrets. */
	| "missing"
	/** The database contains nothing that is sealed. */
	| "not needed";

export async function restoreSqlite(config: KeySettings, request: RestoreRequest): Promise<RestoreReport> {
	const { tell } = request;
	const backup = await openBackup(request.path);
	refuseSchema(backup.manifest);
	const target = findTarget(request.to);
	refuseOccupied(target, request.mayReplace);
	const keys = await openSealedKeys(backup, request.readPassphrase);
	const keyFiles = assignKeys(target, config, keys ?? []);
	refuseOtherKey(keyFiles, request.mayReplace);
	const folder = dirname(target.path);
	await refuseFullDisk(folder, backup.manifest.databaseBytes, "The database");
	return withPartialFiles(tell, async (partial) => {
		const fresh = partial(partialName(target.path));
		const owner = await findOwner(folder);
		await explainFailure(folder, () => unpack(backup, { path: fresh, owner }, tell));
		const checked = await checkSqliteFile(fresh, keys ?? findKeysFor(target.givenPath, config), tell);
		const problem = checked.damage?.[0] ?? checked.schemaProblem;
		if (problem !== null) throw new BackupError(`The database in ${backup.path} is broken: ${problem}.`);
		if (keys !== null && checked.sealed.isWrongKey) {
			throw new BackupError(`The key in ${backup.path} does not open the signing secrets beside it.`);
		}
		// This time becomes part of the restored file, so nobody can use the database without the record of its restore.
		const restoredAtMs = realClock.nowMs();
		const asOfMs = Date.parse(backup.manifest.createdAt);
		await explainFailure(folder, async () => recordRestoreIn(fresh, { asOfMs, restoredAtMs }));
		const drafts = keyFiles.map(({ path, key }) => ({ draft: partial(partialName(path)), path, key }));
		for (const { draft, key } of drafts) {
			await explainFailure(dirname(draft), () => writeKey(key, { path: draft, owner }));
		}
		// The target is checked again, because unpacking the backup may have taken minutes.
		refuseOccupied(target, request.mayReplace);
		const hasReplacedKey = keyFiles.some(({ path, key }) => {
			const beside = readKeyAt(path);
			return beside !== null && !Buffer.from(beside).equals(key);
		});
		const keptAside = swapFiles({ draft: fresh, path: target.path }, drafts, realClock.nowMs());
		return {
			to: target.path,
			manifest: backup.manifest,
			keptAside,
			hasReplacedKey,
			key: judgeKey(keyFiles.length > 0, config, checked.sealed),
			broken: checked.ledger?.broken ?? [],
			isToBeMigrated: checked.schema.version < MIGRATIONS.length,
			toEraseAgain: await findForgotten(keptAside[0], target.path),
			restoredAtMs,
		};
	});
}

/**
 * Returns the people and partners who were erased in the earlier database, which was kept aside, but not in the
 * restored one.
 */
async function findForgotten(asidePath: string | undefined, path: string): Promise<readonly string[] | null> {
	const erasedBefore = asidePath === undefined ? null : await readErased(asidePath);
	if (erasedBefore === null) return null;
	const restored = new Set(await readErased(path));
	return findPresent(
		path,
		erasedBefore.filter((publicId) => !restored.has(publicId)),
	);
}

/** Returns those of the public ids that a database contains. People who were added after the backup are not in it. */
async function findPresent(path: string, publicIds: readonly string[]): Promise<readonly string[]> {
	const store = openSqliteToRead(path);
	try {
		const present = await listPresentIds(store.db, publicIds);
		return publicIds.filter((publicId) => present.has(publicId));
	} finally {
		await store.close();
	}
}

/**
 * Returns the public ids of all erased people and partners in a database, or null if it cannot be read or has no
 * record of erasures.
 */
async function readErased(path: string): Promise<readonly string[] | null> {
	try {
		const store = openSqliteToRead(path);
		try {
			return await listErasedIds(store.db);
		} finally {
			await store.close();
		}
	} catch {
		return null;
	}
}

function refuseSchema({ schema }: Manifest): void {
	const supportedVersion = MIGRATIONS.length;
	if (schema.oldestProgram > supportedVersion) {
		throw new BackupError(
			new SchemaTooNewError(schema.version, schema.oldestProgram, supportedVersion).message,
		);
	}
}

interface Target {
	path: string;
	/**
	 * Path of the database in the settings, which may be a symbolic link to it. The key files are in its folder.
	 */
	givenPath: string;
}

function findTarget(to: string): Target {
	const given = resolve(to);
	if (lstatOf(dirname(given)) === null) {
		throw new BackupError(
			`There is no folder ${dirname(given)}. Make it first, for the account that runs the service.`,
		);
	}
	const found = lstatOf(given);
	if (found === null || found.isFile()) return { path: given, givenPath: given };
	if (found.isSymbolicLink() && existsSync(given)) return { path: realpathSync(given), givenPath: given };
	throw new BackupError(`${given} is no file that a database could take the place of.`);
}

function refuseOccupied({ path }: Target, mayReplace: boolean): void {
	const left = LOG_SUFFIXES.map((suffix) => `${path}${suffix}`).filter((name) => existsSync(name));
	if (!existsSync(path)) {
		// Leftover log files prevent the restore, because SQLite would apply them to the restored database.
		if (left.length === 0 || mayReplace) return;
		throw new BackupError(
			`There is no database ${path}, and ${left.join(" and ")} of an earlier one. Choose --force to keep that aside.`,
		);
	}
	if (!mayReplace) {
		throw new BackupError(
			`${path} is there already. Choose another file with --to, or --force to put the backup in its place; what is there is kept aside.`,
		);
	}
	if (closeLog(path) !== "in use") return;
	throw new BackupError(
		`Something works on ${path} just now. Stop the service first, and every command that uses it.`,
	);
}

async function openSealedKeys(
	{ path, manifest }: BackupFile,
	readPassphrase: () => Promise<string>,
): Promise<readonly Uint8Array[] | null> {
	if (manifest.key === null) return null;
	const keys = openKeys(await readPassphrase(), manifest.key);
	if (keys === null) throw new BackupError(`The passphrase does not open the key in ${path}.`);
	return keys;
}

interface KeyFile {
	path: string;
	key: Uint8Array;
}

/**
 * Returns the key files to write. A key that is in the settings is not written to the disk. If the backup was made
 * while `ringback rekey` was replacing the key, there are two keys, and `ringback rekey` continues with both files.
 */
function assignKeys({ givenPath }: Target, settings: KeySettings, keys: readonly Uint8Array[]): KeyFile[] {
	const given = [settings.secretKey, settings.formerSecretKey].filter((key) => key !== null);
	const unset = keys.filter((key) => !given.some((one) => Buffer.from(one).equals(key)));
	const { present, next } = keyFilesOf(givenPath);
	return [present, next].flatMap((path, at) => {
		const key = unset[at];
		return key === undefined ? [] : { path, key };
	});
}

/**
 * Throws if the key file holds another key. Overwriting that key would make the secrets that it sealed
 * unreadable.
 */
function refuseOtherKey(keyFiles: readonly KeyFile[], mayReplace: boolean): void {
	if (mayReplace) return;
	for (const { path, key } of keyFiles) {
		const beside = readKeyAt(path);
		if (beside === null || Buffer.from(beside).equals(key)) continue;
		throw new BackupError(
			`${path} holds another key than the backup. Choose --force to keep it aside, or another file with --to.`,
		);
	}
}

/**
 * Returns the owner of the folder if root runs the restore. The folder belongs to the account that runs the service,
 * which must also own the restored files.
 */
async function findOwner(folder: string): Promise<Owner | null> {
	return process.getuid?.() === 0 ? stat(folder) : null;
}

async function writeKey(key: Uint8Array, to: Draft): Promise<void> {
	const text = `${Buffer.from(key).toString("hex")}\n`;
	await writeNewFile(to.path, to.owner, (handle) => handle.writeFile(text));
}

function judgeKey(
	isWritten: boolean,
	{ secretKey }: KeySettings,
	{ total, unopened, isWrongKey }: SealedCheck,
): RestoredKey {
	if (isWritten) return secretKey === null ? "written" : "setting differs";
	if (total === 0) return "not needed";
	return unopened === null || isWrongKey ? "missing" : "there already";
}

interface NewFile {
	draft: string;
	path: string;
}

/**
 * Gives the new files their final names, and renames the existing files. The function is synchronous, so a signal
 * cannot interrupt it. If the process is killed during the function, the path holds either the old or the new
 * database. On a file system without hard links there may briefly be no file at the path.
 */
function swapFiles(database: NewFile, keys: readonly NewFile[], atMs: number): string[] {
	const logs = LOG_SUFFIXES.map((suffix) => `${database.path}${suffix}`);
	const stamp = `.before-${isoTime(atMs).replaceAll(":", "-")}`;
	// All renamed files get the same time in their names, so that a person can find the key that belongs to a
	// database.
	const asideOf = (path: string): string =>
		path.startsWith(database.path)
			? `${database.path}${stamp}${path.slice(database.path.length)}`
			: `${path}${stamp}`;
	const renamed: string[] = [];
	const keep = (path: string): void => {
		if (lstatOf(path) === null) return;
		nameAlso(path, asideOf(path));
		renamed.push(path);
		// The folder is synced first. Otherwise a power cut could keep the new file and lose the new name of the
		// old one.
		syncFolder(dirname(path));
	};
	try {
		// Old log files are renamed as well, because SQLite would apply them to the restored database.
		for (const path of logs) {
			keep(path);
			rmSync(path, { force: true });
		}
		// The key files are put in place first, because a service that finds a database without a key creates
		// another key.
		for (const { draft, path } of [...keys, database]) {
			keep(path);
			renameSync(draft, path);
			syncFolder(dirname(path));
		}
	} catch (error) {
		const moves = renamed.map((path) => `${asideOf(path)} to ${path}`).join(", and ");
		const next =
			moves === ""
				? "Remove what is there now, and try again."
				: `Nothing is lost: before you start the service, rename ${moves}.`;
		throw new BackupError(`The backup was not put in place: ${sayReason(error)}. ${next}`, { cause: error });
	}
	// After sorting, the database is first in the report.
	return renamed.toSorted().map(asideOf);
}
