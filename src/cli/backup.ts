// `ringback backup PATH`: one file with the database and the sealed key. On PostgreSQL it says what to run instead.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Config, readConfig } from "../config.ts";
import { sayBytes } from "../domain/bytes.ts";
import { quote } from "../domain/shell-words.ts";
import type { BackupReport } from "../service/backup.ts";
import type { PostgresBackup } from "../service/postgres-backup.ts";
import type { PostgresSetting } from "../store/postgres-setting.ts";
import { type Command, EXIT, JSON_OPTION, type Options, type Screen } from "./command.ts";
import { choosePassphrase, PASSPHRASE_FILE } from "./passphrase.ts";
import { databaseOption, describePassword } from "./postgres-words.ts";
import { tellOn } from "./telling.ts";
import { sayProblems } from "./workplace-command.ts";

export const backupCommand: Command = {
	name: "backup",
	summary:
		"Writes the database and its sealing key into one file, while the service runs, and checks it. On PostgreSQL it says what to run instead, and exits 1.",
	argument: { value: "PATH", help: "the file to write; with --keep, the folder" },
	options: {
		"passphrase-file": PASSPHRASE_FILE,
		"without-key": {
			type: "boolean",
			help: "leave the sealing key out: without it the signing secrets cannot be read, so keep it elsewhere",
		},
		force: { type: "boolean", help: "overwrite PATH if it is there" },
		keep: {
			type: "string",
			value: "N",
			help: "for a timer: PATH is a folder, the file in it is named by the time, and only the newest N are kept",
		},
		json: JSON_OPTION,
	},
	async run(options, screen, environment) {
		const read = readConfig(environment);
		if (!read.ok) return sayProblems(screen, read.problems);
		const { config } = read;
		const { database } = config;
		if (database.kind !== "sqlite") return sayPostgres({ ...config, database }, options, screen);
		const databasePath = resolve(database.path);
		if (!existsSync(databasePath)) {
			screen.error(`There is no database file ${databasePath}: correct DATABASE_URL.`);
			return EXIT.failed;
		}
		const keep = readKeep(options.text("keep"));
		if (keep === null) {
			screen.error(`--keep is a whole number from 1 to ${MOST_KEPT}.`);
			return EXIT.usage;
		}
		const isWithoutKey = options.flag("without-key");
		const chosen = isWithoutKey ? null : await choosePassphrase(options.text("passphrase-file"), screen);
		if (chosen?.ok === false) {
			screen.error(chosen.problem);
			return EXIT.usage;
		}
		const { backUpSqlite } = await import("../service/backup.ts");
		const { nameBackup, removeOldBackups } = await import("../service/kept-backups.ts");
		const report = await backUpSqlite(
			{ secretKey: config.secretKey, databasePath },
			{
				path: keep === undefined ? options.argument : nameBackup(options.argument),
				passphrase: chosen?.text ?? null,
				mayOverwrite: options.flag("force"),
				telling: tellOn(screen),
			},
		);
		const isBalanced = report.broken.length === 0;
		// Otherwise, night by night, the last that balances would go.
		const removed = keep !== undefined && isBalanced ? removeOldBackups(report.path, keep) : [];
		sayReport({ ...report, removed, isKeeping: keep !== undefined }, options.flag("json"), screen);
		// It is there, and somebody must look: a timer that fails is seen.
		return isBalanced ? EXIT.ok : EXIT.failed;
	},
};

/** One a day for ten years. */
const MOST_KEPT = 3_660;

/** Undefined when there is no such option, null when it is not a number. */
function readKeep(text: string): number | undefined | null {
	if (text === "") return undefined;
	const number = /^\d{1,4}$/.test(text) ? Number(text) : 0;
	return number >= 1 && number <= MOST_KEPT ? number : null;
}

function sayReport(
	report: BackupReport & { removed: readonly string[]; isKeeping: boolean },
	asJson: boolean,
	screen: Screen,
): void {
	const { path, bytes, manifest, broken, hasKey, noteProblem, tookMs, removed, isKeeping } = report;
	const { createdAt, databaseBytes, schema } = manifest;
	const key = manifest.key !== null ? "sealed" : hasKey ? "left out" : "none yet";
	if (asJson) {
		const facts = {
			path,
			bytes,
			databaseBytes,
			createdAt,
			schemaVersion: schema.version,
			key,
			broken,
			removed,
			noteProblem,
			tookMs,
		};
		screen.out(JSON.stringify(facts));
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

/** Nothing was backed up, so it is no success for whoever only looks at the exit code. */
async function sayPostgres(
	{ database, ...config }: Config & { database: PostgresSetting },
	options: Options,
	screen: Screen,
): Promise<number> {
	const { preparePostgresBackup } = await import("../service/postgres-backup.ts");
	const found = await preparePostgresBackup({ ...config, database, logLevel: "silent" });
	const url = database.directUrl ?? database.url;
	const path = options.text("keep") === "" ? options.argument : join(options.argument, "ringback.dump");
	const command = `pg_dump --format=custom --file=${quote(path)} ${databaseOption(url)}`;
	if (options.flag("json")) {
		screen.out(JSON.stringify({ ...found, command }));
		return EXIT.failed;
	}
	for (const line of describePostgres(found, command, path)) screen.out(line);
	screen.out(describePassword(url));
	return EXIT.failed;
}

function describePostgres(found: PostgresBackup, command: string, path: string): string[] {
	const { serverVersion, databaseBytes } = found;
	return [
		`Nothing was written: the database is on PostgreSQL ${serverVersion} (${sayBytes(databaseBytes)}), which has its own program for it. Run:`,
		"",
		"  umask 077",
		`  ${command}`,
		`  ringback verify ${quote(path)}`,
		"",
		describeProgram(found),
		"The sealing key is not in the dump: keep RINGBACK_SECRET_KEY where you keep passwords. Without it the signing secrets cannot be read.",
	];
}

function describeProgram({ pgDump, isPgDumpGood, serverMajor }: PostgresBackup): string {
	const install = `Install the client programs of PostgreSQL ${serverMajor} (Debian: apt-get install postgresql-client-${serverMajor}, from apt.postgresql.org if your release has another version).`;
	if (pgDump === null) return `There is no pg_dump in the PATH. ${install}`;
	if (isPgDumpGood) return `The pg_dump in the PATH is ${pgDump}, which can read this server.`;
	return `The pg_dump in the PATH is ${pgDump}, and refuses a newer server. ${install}`;
}
