// `ringback backup PATH` writes the database and the sealed key into one file.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { sayBytes } from "#core/domain/bytes.ts";
import type { BackupReport } from "../service/backup.ts";
import { type Command, CommandError, EXIT, JSON_OPTION, type Screen, withSettings } from "./command.ts";
import { choosePassphrase, PASSPHRASE_FILE, tellOn } from "./passphrase.ts";

export const backupCommand: Command = {
	name: "backup",
	summary:
		"Writes a SQLite database and its sealing key into one file while the service runs, and checks that file. For PostgreSQL use pg_dump.",
	argument: { value: "PATH", help: "the file to write; with --keep, the folder" },
	options: {
		"passphrase-file": PASSPHRASE_FILE,
		"without-key": {
			type: "boolean",
			help: "leave the sealing key out; the signing secrets cannot be read without it, so keep it elsewhere",
		},
		force: { type: "boolean", help: "overwrite PATH if it is there" },
		keep: {
			type: "string",
			value: "N",
			help: "for a timer: PATH is a folder, the file in it is named by the time, and only the newest N are kept",
		},
		json: JSON_OPTION,
	},
	run: withSettings(async (options, screen, { database, secretKey, formerSecretKey }) => {
		if (database.kind !== "sqlite") {
			throw new CommandError(
				"Nothing was written, because DATABASE_URL names a PostgreSQL database, which is backed up with PostgreSQL's own programs, such as pg_dump. `ringback guide postgresql-backups` has the commands.",
				EXIT.failed,
			);
		}
		const databasePath = resolve(database.path);
		if (!existsSync(databasePath)) {
			throw new CommandError(`There is no database file ${databasePath}: correct DATABASE_URL.`, EXIT.failed);
		}
		const keep = readKeep(options.text("keep"));
		const passphrase = options.flag("without-key")
			? null
			: await choosePassphrase(options.text("passphrase-file"), screen);
		const { backUpSqlite, nameBackup, removeOldBackups } = await import("../service/backup.ts");
		const report = await backUpSqlite(
			{ secretKey, formerSecretKey, databasePath },
			{
				path: keep === undefined ? options.argument : nameBackup(options.argument),
				passphrase,
				mayOverwrite: options.flag("force"),
				tell: tellOn(screen),
			},
		);
		const isBalanced = report.broken.length === 0;
		// Old backups are removed only if the new one balances. Otherwise regular backups would eventually remove
		// the last one that balances.
		const removed = keep !== undefined && isBalanced ? removeOldBackups(report.path, keep) : [];
		sayReport({ ...report, removed, isKeeping: keep !== undefined }, options.flag("json"), screen);
		// The backup was written, but it does not balance, and somebody must look into it. The failed exit code
		// makes a timer report it.
		return isBalanced ? EXIT.ok : EXIT.failed;
	}),
};

/** Maximum number of backups to keep: one a day for ten years. */
const MAX_KEPT = 3_660;

function readKeep(text: string): number | undefined {
	if (text === "") return undefined;
	const number = /^\d{1,4}$/.test(text) ? Number(text) : 0;
	if (number >= 1 && number <= MAX_KEPT) return number;
	throw new CommandError(`--keep is a whole number from 1 to ${MAX_KEPT}.`);
}

function sayReport(
	report: BackupReport & { removed: readonly string[]; isKeeping: boolean },
	asJson: boolean,
	screen: Screen,
): void {
	const { manifest, hasKey, isKeeping, ...facts } = report;
	const { path, bytes, broken, noteProblem, tookMs, removed } = facts;
	const { createdAt, databaseBytes, schema } = manifest;
	const key = manifest.key !== null ? "sealed" : hasKey ? "left out" : "none yet";
	if (asJson) {
		const backup = { createdAt, databaseBytes, schemaVersion: schema.version, key };
		screen.out(JSON.stringify({ ...facts, ...backup }));
		return;
	}
	screen.out(`${path} has everything that was stored by ${createdAt}.`);
	screen.out(
		`  ${sayBytes(bytes)}, the database itself ${sayBytes(databaseBytes)}; checked and read back; ${(tookMs / 1000).toFixed(1)} s`,
	);
	const words = {
		sealed: "the key is in it, sealed by the passphrase: keep that apart from the file",
		"left out":
			"WITHOUT the key: unless you keep it elsewhere (RINGBACK_SECRET_KEY, or the .key file beside the database), the signing secrets in it cannot be read, and the service does not start on it",
		"none yet": "the database has no key yet",
	};
	screen.out(`  ${words[key]}`);
	for (const { count, problem } of broken) {
		screen.out(`  WARNING: the ledger does not balance, here and in the database: ${count} ${problem}`);
	}
	if (isKeeping && broken.length > 0) {
		screen.out("  no older backup was removed: keep the last one that balances");
	}
	if (noteProblem !== null) {
		screen.out(
			`  WARNING: the database could not note that it was backed up (${noteProblem}): the System page and ringback doctor do not know of this one`,
		);
	}
	if (removed.length > 0) screen.out(`  removed, because newer ones are there: ${removed.join(", ")}`);
	screen.out(`Check it again at any time: ringback verify ${report.path}`);
}
