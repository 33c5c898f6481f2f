// `ringback verify [PATH]`: is a backup whole, a file or the live database? Says what was checked and what was not.

import { resolve } from "node:path";
import { readConfig } from "../config.ts";
import type { CheckedDatabase } from "../service/check-database.ts";
import type { KeyCheck, VerifiedFile } from "../service/verify.ts";
import { MIGRATIONS } from "../store/migrations.ts";
import { type Command, EXIT, JSON_OPTION } from "./command.ts";
import { type Finding, ok, problem, sayFinding, warning } from "./finding.ts";
import { PASSPHRASE_FILE, readPassphrase } from "./passphrase.ts";
import { tellOn } from "./telling.ts";
import { sayProblems } from "./workplace-command.ts";

export const verifyCommand: Command = {
	name: "verify",
	summary:
		"Checks a backup, a SQLite file, a pg_dump in custom format, or without PATH the live database: pages, schema, key, and the ledger. Exits 1 when something is wrong.",
	argument: { value: "PATH", help: "the file to check; the live database if left out", isOptional: true },
	options: { "passphrase-file": PASSPHRASE_FILE, json: JSON_OPTION },
	async run(options, screen, environment) {
		const read = readConfig(environment);
		if (!read.ok) return sayProblems(screen, read.problems);
		const file = options.text("passphrase-file");
		const given = file === "" ? null : await readPassphrase(file, screen);
		if (given?.ok === false) {
			screen.error(given.problem);
			return EXIT.usage;
		}
		const telling = tellOn(screen);
		const { BackupError } = await import("../service/backup-error.ts");
		let findings: readonly Finding[];
		try {
			if (options.argument === "") {
				const { verifyLive } = await import("../service/verify-live.ts");
				findings = describeDatabase(
					await verifyLive({ ...read.config, logLevel: "silent" }, telling),
					"live",
				);
			} else {
				const { verifyFile } = await import("../service/verify.ts");
				const request = { path: options.argument, passphrase: given?.text ?? null, telling };
				findings = describeFile(resolve(options.argument), await verifyFile(read.config, request));
			}
		} catch (error) {
			if (!(error instanceof BackupError)) throw error;
			findings = [problem("file", error.message)];
		}
		for (const finding of findings) sayFinding(screen, finding, options.flag("json"));
		return findings.some(({ state }) => state === "problem") ? EXIT.failed : EXIT.ok;
	},
};

function describeFile(path: string, verified: VerifiedFile): Finding[] {
	switch (verified.kind) {
		case "backup": {
			const { program, createdAt } = verified.manifest;
			return [
				ok("file", `a backup of ${createdAt}, made by Ringback ${program}`),
				ok("checksums", "the file is byte for byte as it was written"),
				...describeDatabase(verified.database, verified.key),
			];
		}
		case "sqlite":
			return [ok("file", `a SQLite file: ${path}`), ...describeDatabase(verified.database, "beside")];
		case "postgres dump":
			return describeDump(verified.dump);
		default:
			return verified satisfies never;
	}
}

type KeySource = KeyCheck | "live" | "beside";

function describeDatabase(database: CheckedDatabase, key: KeySource): Finding[] {
	const { damage } = database;
	const pages =
		damage === null
			? ok("pages", "PostgreSQL looks after its pages itself: not looked at here")
			: ok("pages", "SQLite finds no damage");
	if (damage !== null && damage.length > 0) return damage.map((line) => problem("pages", line));
	return [pages, describeSchema(database), ...describeLedger(database), ...describeKey(database, key)];
}

function describeSchema({ schema: { version }, schemaProblem }: CheckedDatabase): Finding {
	const known = MIGRATIONS.length;
	if (schemaProblem !== null) return problem("schema", schemaProblem);
	if (version === known) return ok("schema", `version ${known} is this program's`);
	if (version > known) return warning("schema", `version ${version} is newer than this program's ${known}`);
	return ok("schema", `version ${version}; this program brings it to ${known} at the start`);
}

function describeLedger({ ledger }: CheckedDatabase): Finding[] {
	if (ledger === null) return [];
	if (ledger.broken.length === 0) {
		return [
			ok(
				"ledger",
				`${ledger.rules} rules hold: nothing is owed without its row, or stored without its owner`,
			),
		];
	}
	return ledger.broken.map(({ count, problem: what, examples }) =>
		problem("ledger", `${count} ${what} (the first: ${examples.join(", ")})`),
	);
}

function describeKey(
	{ secrets: { total, unopened }, schemaProblem }: CheckedDatabase,
	key: KeySource,
): Finding[] {
	if (schemaProblem !== null) return [];
	if (key === "another passphrase")
		return [problem("key", "the passphrase does not open the key in the backup")];
	if (unopened !== null && unopened > 0) {
		return [problem("key", `the key does not open ${unopened} of ${total} signing secrets`)];
	}
	if (unopened !== null) return [ok("key", `it opens all ${total} signing secrets`)];
	if (key === "not tried") {
		return [
			ok("key", "sealed in the backup; give --passphrase-file to see whether it opens the signing secrets"),
		];
	}
	if (total === 0) return [ok("key", "nothing is sealed yet")];
	return [
		warning(
			"key",
			`there is none here, so whether it opens the ${total} signing secrets is not known; without it the service does not start`,
		),
	];
}

/** Without one of these it is no whole database of ours. */
const NEEDED_TABLES = [
	"programmes",
	"signing_secrets",
	"conversions",
	"moves",
	"events",
	"deliveries",
	"queue",
];

function describeDump({
	header,
	pgRestore,
	tables,
	problem: said,
}: Extract<VerifiedFile, { kind: "postgres dump" }>["dump"]): Finding[] {
	if (header === null)
		return [problem("file", "a pg_dump whose beginning cannot be read, or not in custom format")];
	const file = ok(
		"file",
		`a pg_dump of the database ${header.databaseName}, from PostgreSQL ${header.serverVersion}, by pg_dump ${header.dumpVersion}`,
	);
	if (pgRestore === null) {
		return [
			file,
			warning(
				"contents",
				"only the beginning was read: there is no pg_restore in the PATH. A file that was cut would not be noticed",
			),
		];
	}
	if (said !== null)
		return [file, problem("contents", `pg_restore ${pgRestore} cannot read all of it: ${said}`)];
	const missing = NEEDED_TABLES.filter((table) => !tables.includes(table));
	if (missing.length > 0) return [file, problem("contents", `it has no rows of ${missing.join(", ")}`)];
	return [
		file,
		ok("contents", `pg_restore ${pgRestore} reads every block; ${tables.length} tables are in it`),
		warning(
			"ledger",
			"not looked at: a dump has no checksums, and only a restored database can be asked. Restore it into an empty database now and then, and run `ringback verify` there",
		),
	];
}
