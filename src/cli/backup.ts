// `ringback backup PATH`: one file with the database and the sealed key. On PostgreSQL it says what to run instead.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Config, readConfig } from "../config.ts";
import { sayBytes } from "../domain/bytes.ts";
import type { BackupReport } from "../service/backup.ts";
import type { PostgresBackup } from "../service/postgres-backup.ts";
import { type Command, EXIT, JSON_OPTION, type Options, type Screen } from "./command.ts";
import { choosePassphrase, PASSPHRASE_FILE } from "./passphrase.ts";
import { tellOn } from "./telling.ts";
import { sayProblems } from "./workplace-command.ts";

export const backupCommand: Command = {
	name: "backup",
	summary:
		"Writes the database and its sealing key into one file, while the service runs, and checks it. On PostgreSQL it says what to run instead, and exits 1.",
	argument: { value: "PATH", help: "the file to write" },
	options: {
		"passphrase-file": PASSPHRASE_FILE,
		"without-key": {
			type: "boolean",
			help: "leave the sealing key out: without it the signing secrets cannot be read, so keep it elsewhere",
		},
		force: { type: "boolean", help: "overwrite PATH if it is there" },
		json: JSON_OPTION,
	},
	async run(options, screen, environment) {
		const read = readConfig(environment);
		if (!read.ok) return sayProblems(screen, read.problems);
		const { config } = read;
		if (config.database.kind !== "sqlite") return sayPostgres(config, options, screen);
		const databasePath = resolve(config.database.path);
		if (!existsSync(databasePath)) {
			screen.error(`There is no database file ${databasePath}: correct DATABASE_URL.`);
			return EXIT.failed;
		}
		const isWithoutKey = options.flag("without-key");
		const chosen = isWithoutKey ? null : await choosePassphrase(options.text("passphrase-file"), screen);
		if (chosen?.ok === false) {
			screen.error(chosen.problem);
			return EXIT.usage;
		}
		const { backUpSqlite } = await import("../service/backup.ts");
		const report = await backUpSqlite(
			{ secretKey: config.secretKey, databasePath },
			{
				path: options.argument,
				passphrase: chosen?.text ?? null,
				mayOverwrite: options.flag("force"),
				telling: tellOn(screen),
			},
		);
		sayReport(report, options.flag("json"), screen);
		// It is there, and somebody must look: a timer that fails is seen.
		return report.broken.length === 0 ? EXIT.ok : EXIT.failed;
	},
};

function sayReport(report: BackupReport, asJson: boolean, screen: Screen): void {
	const { path, bytes, manifest, broken, hasKey, tookMs } = report;
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
	screen.out(`Check it again at any time: ringback verify ${report.path}`);
}

/** Nothing was backed up, so it is no success for whoever only looks at the exit code. */
async function sayPostgres(config: Config, options: Options, screen: Screen): Promise<number> {
	const { preparePostgresBackup } = await import("../service/postgres-backup.ts");
	const found = await preparePostgresBackup({ ...config, logLevel: "silent" });
	const isPooled = config.database.kind === "postgres" && config.database.directUrl !== null;
	const url = isPooled ? "RINGBACK_DATABASE_DIRECT_URL" : "DATABASE_URL";
	const command = `pg_dump --format=custom --file=${quote(options.argument)} "$${url}"`;
	if (options.flag("json")) {
		screen.out(JSON.stringify({ ...found, command }));
		return EXIT.failed;
	}
	for (const line of describePostgres(found, command, options.argument)) screen.out(line);
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

/** For a shell. */
export function quote(path: string): string {
	return /^[\w./:@%+=,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
