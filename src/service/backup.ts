// `ringback backup` on SQLite: a copy of one moment, checked, packed into one file with the sealed key, read back, and
// only then given its name.

import { closeSync, existsSync, openSync, realpathSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import type { Config } from "../config.ts";
import { type Manifest, writeHead } from "../domain/backup-file.ts";
import { SALT_BYTES, sealKey } from "../domain/passphrase.ts";
import { SEALING_IV_BYTES } from "../domain/sealing.ts";
import { isoTime, SECOND_MS } from "../domain/time.ts";
import { openBackupFile, readBackupFile, writeBackupFile } from "../outside/backup-file.ts";
import { realClock } from "../outside/clock.ts";
import { partialName, placeDurably, replaceDurably } from "../outside/durable-file.ts";
import { createRandom } from "../outside/random.ts";
import { noteBackup } from "../store/last-backup.ts";
import type { BrokenRule } from "../store/ledger.ts";
import { openSqlite } from "../store/sqlite.ts";
import { copySqlite } from "../store/sqlite-copy.ts";
import { LOG_SUFFIXES, readUsedBytes } from "../store/sqlite-file.ts";
import { BackupError } from "./backup-error.ts";
import { type CheckedDatabase, checkSqliteFile, findKeyFor } from "./check-database.ts";
import { explainFailure, lstatOf, refuseFullDisk } from "./disk.ts";
import { createTeller, type Teller, type Telling, withPartialFiles } from "./long-work.ts";

export interface BackupRequest {
	path: string;
	/** Seals the key; null leaves the key out. */
	passphrase: string | null;
	mayOverwrite: boolean;
	telling: Telling;
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
const LOOK_EVERY_MS = SECOND_MS / 4;

export async function backUpSqlite(
	config: Pick<Config, "secretKey"> & { databasePath: string },
	request: BackupRequest,
): Promise<BackupReport> {
	const { databasePath } = config;
	const path = resolve(request.path);
	const startedAtMs = realClock.nowMs();
	const teller = createTeller(realClock, request.telling);
	refuseTarget(path, databasePath, request.mayOverwrite);
	const usedBytes = readUsedBytes(databasePath);
	await refuseFullDisk(dirname(path), usedBytes * NEEDED_SHARE, "A backup");
	const key = findKeyFor(databasePath, config);
	const made = await withPartialFiles(async (partial) => {
		const copy = partial(partialName(`${path}.copy`));
		const packed = partial(partialName(path));
		// All that was answered by now is stored, and in the copy.
		const createdAt = isoTime(realClock.nowMs());
		await explainFailure(dirname(path), () => copyWatched(databasePath, copy, usedBytes, teller));
		const checked = await checkSqliteFile(copy, key, { clock: realClock, teller });
		const schema = refuseBroken(checked);
		const databaseBytes = statSync(copy).size;
		const sealed = request.passphrase === null || key === null ? null : sealWith(request.passphrase, key);
		const manifest: Manifest = {
			program: packageJson.version,
			createdAt,
			schema,
			databaseBytes,
			key: sealed,
		};
		await explainFailure(dirname(path), () => pack(copy, packed, manifest, teller));
		await rm(copy);
		if (request.mayOverwrite) await replaceDurably(packed, path);
		else if (!(await placeDurably(packed, path))) throw new BackupError(describeExisting(path));
		return { manifest, broken: checked.ledger?.broken ?? [] };
	});
	const noteProblem = await noteIn(databasePath, Date.parse(made.manifest.createdAt)).then(
		() => null,
		(error: unknown) => (error instanceof Error ? error.message : String(error)),
	);
	const tookMs = realClock.nowMs() - startedAtMs;
	return { path, bytes: statSync(path).size, ...made, hasKey: key !== null, noteProblem, tookMs };
}

/** For staff's pages and `ringback doctor`, which warn when the last one is old. */
async function noteIn(databasePath: string, atMs: number): Promise<void> {
	const store = openSqlite(databasePath);
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
	// Also where there is none now: SQLite and the service would take a backup under such a name for theirs.
	if (findCompanions(databasePath).includes(withRealFolder(path))) {
		throw new BackupError(`${path} belongs to the database. Name another file.`);
	}
	if (found === null) return;
	if (found.isDirectory()) throw new BackupError(`${path} is a folder. Name a file in it.`);
	if (!found.isFile()) throw new BackupError(`${path} is a link or a device. Name a file.`);
	if (realpathSync(path) === realpathSync(databasePath)) {
		throw new BackupError(`${path} is the database itself. Name another file.`);
	}
	if (!mayOverwrite) throw new BackupError(describeExisting(path));
}

/** The key is beside the name that the settings give, which may be a link; SQLite's files are beside what it leads to. */
function findCompanions(databasePath: string): string[] {
	const names = [withRealFolder(resolve(databasePath))];
	if (existsSync(databasePath)) names.push(realpathSync(databasePath));
	return names.flatMap((name) => [".key", ...LOG_SUFFIXES].map((suffix) => `${name}${suffix}`));
}

function withRealFolder(path: string): string {
	return join(realpathSync(dirname(path)), basename(path));
}

function describeExisting(path: string): string {
	return `${path} is there already. Choose another name, or --force to overwrite it.`;
}

async function copyWatched(from: string, to: string, usedBytes: number, teller: Teller): Promise<void> {
	// Before SQLite does, because it would let everybody on the machine read it.
	closeSync(openSync(to, "wx", 0o600));
	teller.begin("copying the database");
	let cancel = (): void => undefined;
	const look = (): void => {
		teller.goOn(statSync(to, { throwIfNoEntry: false })?.size ?? 0, usedBytes);
		cancel = realClock.after(LOOK_EVERY_MS, look);
	};
	look();
	try {
		await copySqlite(from, to);
	} finally {
		cancel();
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

/** Written, and read back from the disk: what it says of itself must be what is in it. */
async function pack(from: string, to: string, manifest: Manifest, teller: Teller): Promise<void> {
	const goOn = (bytes: number) => teller.goOn(bytes, manifest.databaseBytes);
	teller.begin("packing");
	const written = await writeBackupFile({ head: writeHead(manifest), from, to }, goOn);
	teller.begin("reading it back");
	const opened = await openBackupFile(to);
	const read = await readBackupFile(opened, null, goOn);
	const isSame = [opened.tail, read].every(
		(found) => found?.database === written.database && found.file === written.file,
	);
	if (!isSame) {
		throw new BackupError(`The disk below ${dirname(to)} does not give back what was written to it.`);
	}
}
