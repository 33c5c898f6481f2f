// `ringback verify PATH`: what a file is, and whether it is whole. A backup is unpacked beside itself for it, because
// nothing less tells whether the database in it can be read.

import { dirname, resolve } from "node:path";
import type { Config } from "../config.ts";
import type { Checksums, Manifest } from "../domain/backup-file.ts";
import { openKey } from "../domain/passphrase.ts";
import { type OpenedBackup, openBackupFile, readBackupFile } from "../outside/backup-file.ts";
import { realClock } from "../outside/clock.ts";
import { type Owner, partialName, writeNewFile } from "../outside/durable-file.ts";
import { readErrorCode } from "../outside/error-code.ts";
import { type DumpCheck, isPostgresDump, readDump } from "../outside/postgres-programs.ts";
import { BackupError } from "./backup-error.ts";
import { type CheckedDatabase, checkSqliteFile, findKeyFor } from "./check-database.ts";
import { explainFailure, refuseFullDisk } from "./disk.ts";
import { createTeller, type Teller, type Telling, withPartialFiles } from "./long-work.ts";

/** A file that says of itself that it is a backup and whole; whether it is, reading it tells. */
export interface BackupFile extends OpenedBackup {
	manifest: Manifest;
	tail: Checksums;
}

export type VerifiedFile =
	| { kind: "backup"; manifest: Manifest; key: KeyCheck; database: CheckedDatabase }
	| { kind: "sqlite"; database: CheckedDatabase }
	| { kind: "postgres dump"; dump: DumpCheck };

/** Of the key in a backup. */
export type KeyCheck = "left out" | "not tried" | "opened" | "another passphrase";

export async function openBackup(given: string): Promise<BackupFile> {
	const path = resolve(given);
	const opened = await openFile(path);
	const { head, tail } = opened;
	switch (head.kind) {
		case "other":
			throw new BackupError(`${path} is not a backup that \`ringback backup\` made.`);
		case "later":
			throw new BackupError(`${path} was made by a later Ringback, in a form that this one does not know.`);
		case "damaged":
			throw new BackupError(`${path} is damaged: its first lines cannot be read.`);
		case "backup":
			if (tail === null) throw new BackupError(`${path} is not whole: its end is missing or damaged.`);
			return { ...opened, path, tail, manifest: head.manifest };
		default:
			return head satisfies never;
	}
}

async function openFile(path: string): Promise<OpenedBackup> {
	try {
		return await openBackupFile(path);
	} catch (error) {
		const code = readErrorCode(error);
		if (code === "ENOENT") throw new BackupError(`There is no file ${path}.`);
		if (code === "EISDIR") throw new BackupError(`${path} is a folder. Name a file in it.`);
		throw error;
	}
}

/** False when there is no such file, too. */
export async function isPostgresDumpAt(path: string): Promise<boolean> {
	return isPostgresDump(resolve(path)).catch(() => false);
}

export interface VerifyRequest {
	path: string;
	/** Null: the key in a backup is not tried. */
	passphrase: string | null;
	telling: Telling;
}

export async function verifyFile(
	config: Pick<Config, "secretKey">,
	{ path: given, passphrase, telling }: VerifyRequest,
): Promise<VerifiedFile> {
	const path = resolve(given);
	const { head } = await openFile(path);
	const teller = createTeller(realClock, telling);
	const deps = { clock: realClock, teller };
	if (head.kind === "other" && (await isPostgresDump(path))) {
		teller.begin("reading the dump");
		return { kind: "postgres dump", dump: await readDump(path) };
	}
	if (head.kind === "other") {
		return { kind: "sqlite", database: await checkSqliteFile(path, findKeyFor(path, config), deps) };
	}
	const backup = await openBackup(path);
	const { manifest } = backup;
	const opened = manifest.key === null || passphrase === null ? null : openKey(passphrase, manifest.key);
	const folder = dirname(path);
	await refuseFullDisk(folder, manifest.databaseBytes, "Checking the database in the backup");
	const database = await withPartialFiles(async (partial) => {
		const unpacked = partial(partialName(`${path}.check`));
		await explainFailure(folder, () => unpack(backup, { path: unpacked, owner: null }, teller));
		return checkSqliteFile(unpacked, opened ?? config.secretKey, deps);
	});
	return { kind: "backup", manifest, database, key: judgeKey(manifest, passphrase, opened) };
}

/** A new file, and whose it becomes. */
export interface Draft {
	path: string;
	owner: Owner | null;
}

export async function unpack(backup: BackupFile, to: Draft, teller: Teller): Promise<void> {
	teller.begin("unpacking");
	const goOn = (bytes: number) => teller.goOn(bytes, backup.manifest.databaseBytes);
	const read = await writeNewFile(to.path, to.owner, (handle) => readBackupFile(backup, handle, goOn));
	const { tail } = backup;
	if (read?.database !== tail.database || read.file !== tail.file) {
		throw new BackupError(`${backup.path} is damaged: its checksums are not those it was written with.`);
	}
}

function judgeKey({ key }: Manifest, passphrase: string | null, opened: Uint8Array | null): KeyCheck {
	if (key === null) return "left out";
	if (passphrase === null) return "not tried";
	return opened === null ? "another passphrase" : "opened";
}
