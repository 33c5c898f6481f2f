// `ringback backup` on SQLite: a copy of one moment, checked, packed into one file with the sealed key, read back, and
// only then given its name.

import { closeSync, mkdirSync, openSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import type { Config } from "../config.ts";
import type { Manifest } from "../domain/backup-file.ts";
import { SALT_BYTES, sealKey } from "../domain/passphrase.ts";
import { SEALING_IV_BYTES } from "../domain/sealing.ts";
import { DAY_MS, isoTime } from "../domain/time.ts";
import { openBackupFile, readBackupFile, writeBackupFile } from "../outside/backup-file.ts";
import { realClock } from "../outside/clock.ts";
import { partialName, replaceDurably } from "../outside/durable-file.ts";
import { createRandom } from "../outside/random.ts";
import type { BrokenRule } from "../store/queries/ledger.ts";
import { noteBackup } from "../store/queries/system.ts";
import { copySqlite, LOG_SUFFIXES, readUsedBytes } from "../store/sqlite/file.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import {
	BackupError,
	explainFailure,
	lstatOf,
	refuseFullDisk,
	sayReason,
	type Tell,
	withPartialFiles,
} from "./file-work.ts";
import { type CheckedDatabase, checkSqliteFile, findKeyFor } from "./verify.ts";

export interface BackupRequest {
	path: string;
	/** Seals the key; null leaves the key out. */
	passphrase: string | null;
	mayOverwrite: boolean;
	tell: Tell;
}

export interface BackupReport {
	path: string;
	bytes: number;
	manifest: Manifest;
	/** What does not agree in it: a faithful copy all the same, and better than none. */
	broken: readonly BrokenRule[];
	/** False when the database has no key yet: nothing is sealed. */
	hasKey: boolean;
	/** Why the database does not know of it: the backup is whole all the same. */
	noteProblem: string | null;
	tookMs: number;
}

/** Of the database: the copy itself, and what it becomes when it is packed (a fifth of it, measured; a third at worst). */
const NEEDED_SHARE = 1.35;

export async function backUpSqlite(
	config: Pick<Config, "secretKey"> & { databasePath: string },
	request: BackupRequest,
): Promise<BackupReport> {
	const { databasePath } = config;
	const { tell, passphrase } = request;
	const path = resolve(request.path);
	const folder = dirname(path);
	const startedAtMs = realClock.nowMs();
	refuseTarget(path, databasePath, request.mayOverwrite);
	await refuseFullDisk(folder, readUsedBytes(databasePath) * NEEDED_SHARE, "A backup");
	const key = findKeyFor(databasePath, config);
	const made = await withPartialFiles(async (partial) => {
		const copy = partial(partialName(`${path}.copy`));
		const packed = partial(partialName(path));
		// All that was answered by now is stored, and in the copy.
		const createdAt = isoTime(realClock.nowMs());
		tell("copying the database");
		await explainFailure(folder, async () => {
			// Before SQLite does, because it would let everybody on the machine read it.
			closeSync(openSync(copy, "wx", 0o600));
			await copySqlite(databasePath, copy);
		});
		const checked = await checkSqliteFile(copy, key, tell);
		const manifest: Manifest = {
			program: packageJson.version,
			createdAt,
			schema: refuseBroken(checked),
			databaseBytes: statSync(copy).size,
			key: passphrase === null || key === null ? null : sealWith(passphrase, key),
		};
		tell("packing");
		await explainFailure(folder, () => writeBackupFile(manifest, { from: copy, to: packed }));
		rmSync(copy);
		tell("reading it back");
		await refuseUnread(packed);
		// Again: minutes may have passed.
		refuseTarget(path, databasePath, request.mayOverwrite);
		replaceDurably(packed, path);
		return { manifest, broken: checked.ledger?.broken ?? [] };
	});
	const noteProblem = await noteIn(databasePath, Date.parse(made.manifest.createdAt)).then(
		() => null,
		sayReason,
	);
	const tookMs = realClock.nowMs() - startedAtMs;
	return { path, bytes: statSync(path).size, ...made, hasKey: key !== null, noteProblem, tookMs };
}

/** For staff's pages and `ringback doctor`, which warn when the last one is old. */
async function noteIn(databasePath: string, atMs: number): Promise<void> {
	const store = openSqlite(databasePath, realClock);
	try {
		await noteBackup(store.db, atMs);
	} finally {
		await store.close();
	}
}

/** Its own name is not followed: what is written takes the place of the link, not of what it leads to. */
function refuseTarget(path: string, databasePath: string, mayOverwrite: boolean): void {
	const folder = dirname(path);
	const found = lstatOf(path);
	if (lstatOf(folder) === null) throw new BackupError(`There is no folder ${folder}. Make it first.`);
	// The key is beside the name that the settings give, which may be a link; SQLite's files are beside what it leads to.
	// Also where there is none now: SQLite and the service would take a backup under such a name for theirs.
	const ofDatabase = [databasePath, realpathSync(databasePath)].flatMap((name) =>
		["", ".key", ...LOG_SUFFIXES].map((suffix) => `${name}${suffix}`),
	);
	if (ofDatabase.includes(path) || ofDatabase.includes(join(realpathSync(folder), basename(path)))) {
		throw new BackupError(`${path} belongs to the database. Name another file.`);
	}
	if (found === null) return;
	if (found.isDirectory()) throw new BackupError(`${path} is a folder. Name a file in it.`);
	if (!found.isFile()) throw new BackupError(`${path} is a link or a device. Name a file.`);
	if (!mayOverwrite) {
		throw new BackupError(`${path} is there already. Choose another name, or --force to overwrite it.`);
	}
}

/** What could not be restored from it would be found out when it is needed. */
function refuseBroken({ damage, schema, schemaProblem, secrets }: CheckedDatabase): Manifest["schema"] {
	const [firstDamage] = damage ?? [];
	if (firstDamage !== undefined) {
		throw new BackupError(`The database is damaged: ${firstDamage}. Keep your earlier backups.`);
	}
	const { version, oldestProgram, firstName } = schema;
	if (schemaProblem !== null || firstName === null) {
		throw new BackupError(`This database cannot be backed up: ${schemaProblem ?? "it is empty"}.`);
	}
	if ((secrets.unopened ?? 0) > 0) {
		throw new BackupError(
			"The sealing key does not open the signing secrets in this database. Set the right RINGBACK_SECRET_KEY, or restore the key file beside the database.",
		);
	}
	return { version, oldestProgram, firstName };
}

function sealWith(passphrase: string, key: Uint8Array): Manifest["key"] {
	const random = createRandom();
	return sealKey(passphrase, key, { salt: random.bytes(SALT_BYTES), iv: random.bytes(SEALING_IV_BYTES) });
}

/** What it says of itself must be what the disk gives back. */
async function refuseUnread(packed: string): Promise<void> {
	const found = await openBackupFile(packed);
	if (typeof found !== "string" && (await readBackupFile(packed, found, null))) return;
	throw new BackupError(`The disk below ${dirname(packed)} does not give back what was written to it.`);
}

// A folder of backups that are taken regularly: each is named by its time, and only the newest are kept. Nothing is
// removed but what has such a name.

const NAME = /^ringback-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z\.backup$/;
/** What a run that was killed has left. */
const LEFT = /^ringback-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z\.backup(?:\.copy)?\.partial-/;

/** The folder is made if it is not there, for this account alone. */
export function nameBackup(folder: string): string {
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const time = isoTime(realClock.nowMs()).slice(0, 19).replaceAll(":", "-");
	return join(resolve(folder), `ringback-${time}Z.backup`);
}

/**
 * Once `made` is whole. The names of what was removed. What has a later name than `made` was written while the clock was
 * ahead: it neither counts nor goes, or it would push out what is really new. What was left unfinished goes after a day:
 * by then nobody works on it.
 */
export function removeOldBackups(made: string, keep: number): string[] {
	const folder = dirname(made);
	const names = readdirSync(folder);
	const old = names
		.filter((name) => NAME.test(name) && name < basename(made))
		.sort()
		.reverse()
		.slice(keep - 1);
	const left = names.filter((name) => LEFT.test(name) && isOlderThanADay(join(folder, name)));
	for (const name of [...old, ...left]) rmSync(join(folder, name), { force: true });
	return [...old, ...left];
}

function isOlderThanADay(path: string): boolean {
	const found = statSync(path, { throwIfNoEntry: false });
	return found !== undefined && realClock.nowMs() - found.mtimeMs > DAY_MS;
}
