// `ringback verify [PATH]` checks a backup, a SQLite file or the live database, and lists which checks were
// made and which were not.

import { resolve } from "node:path";
import { MIGRATIONS } from "#core/store/schema/migrations.ts";
import type { Config } from "../config.ts";
import type { CheckedDatabase, KeyCheck, VerifiedFile } from "../service/verify.ts";
import {
	type Command,
	type Finding,
	JSON_OPTION,
	ok,
	problem,
	sayFindings,
	warning,
	withSettings,
} from "./command.ts";
import { PASSPHRASE_FILE, readPassphrase, tellOn } from "./passphrase.ts";

export const verifyCommand: Command = {
	name: "verify",
	summary:
		"Checks a backup or a SQLite file, or the live database (also on PostgreSQL) if PATH is left out. It checks the pages of the file, the schema, the key and the ledger. Exits with 1 if something is wrong.",
	argument: { value: "PATH", help: "the file to check; the live database if left out", isOptional: true },
	options: { "passphrase-file": PASSPHRASE_FILE, json: JSON_OPTION },
	run: withSettings(async (options, screen, config) => {
		const file = options.text("passphrase-file");
		const passphrase = file === "" ? null : await readPassphrase(file, screen);
		const findings = await find(config, options.argument, passphrase, tellOn(screen));
		return sayFindings(screen, findings, options.flag("json"));
	}),
};

async function find(
	config: Config,
	path: string,
	passphrase: string | null,
	tell: (stage: string) => void,
): Promise<Finding[]> {
	const { BackupError } = await import("../service/file-work.ts");
	const { verifyFile, verifyLive } = await import("../service/verify.ts");
	try {
		if (path === "")
			return describeDatabase(await verifyLive({ ...config, logLevel: "silent" }, tell), "live");
		return describeFile(resolve(path), await verifyFile(config, { path, passphrase, tell }));
	} catch (error) {
		if (!(error instanceof BackupError)) throw error;
		return [problem("file", error.message)];
	}
}

function describeFile(path: string, verified: VerifiedFile): Finding[] {
	if (verified.kind === "sqlite") {
		return [ok("file", `a SQLite file: ${path}`), ...describeDatabase(verified.database, "beside")];
	}
	const { program, createdAt } = verified.manifest;
	return [
		ok("file", `a backup of ${createdAt}, made by Ringback ${program}`),
		ok("checksums", "the file is byte for byte as it was written"),
		...describeDatabase(verified.database, verified.key),
	];
}

type KeySource = KeyCheck | "live" | "beside";

function describeDatabase(database: CheckedDatabase, key: KeySource): Finding[] {
	const { damage } = database;
	const pages =
		damage === null
			? ok("pages", "not checked here, because PostgreSQL checks its pages itself")
			: ok("pages", "SQLite finds no damage");
	if (damage !== null && damage.length > 0) return damage.map((line) => problem("pages", line));
	return [pages, describeSchema(database), ...describeLedger(database), ...describeKey(database, key)];
}

function describeSchema({ schema: { version }, schemaProblem }: CheckedDatabase): Finding {
	const supportedVersion = MIGRATIONS.length;
	if (schemaProblem !== null) return problem("schema", schemaProblem);
	if (version === supportedVersion) return ok("schema", `version ${supportedVersion} is this program's`);
	if (version > supportedVersion)
		return warning("schema", `version ${version} is newer than this program's ${supportedVersion}`);
	return ok("schema", `version ${version}; this program migrates it to ${supportedVersion} at the start`);
}

function describeLedger({ ledger }: CheckedDatabase): Finding[] {
	if (ledger === null) return [];
	if (ledger.broken.length === 0) {
		return [ok("ledger", `${ledger.rules} rules hold`)];
	}
	return ledger.broken.map(({ count, problem: what, examples }) =>
		problem("ledger", `${count} ${what} (the first: ${examples.join(", ")})`),
	);
}

function describeKey(
	{ sealed: { total, unopened }, schemaProblem }: CheckedDatabase,
	key: KeySource,
): Finding[] {
	if (schemaProblem !== null) return [];
	if (key === "another passphrase")
		return [problem("key", "the passphrase does not open the key in the backup")];
	if (unopened !== null && unopened > 0) {
		return [
			problem(
				"key",
				`the key does not open ${unopened} of ${total} sealed values (signing secrets, authenticators, mails, payment details, statements)`,
			),
		];
	}
	if (unopened !== null) return [ok("key", `it opens all ${total} sealed values`)];
	if (key === "not tried") {
		return [
			ok("key", "sealed in the backup; give --passphrase-file to see whether it opens the sealed values"),
		];
	}
	if (total === 0) return [ok("key", "nothing is sealed yet")];
	return [
		warning(
			"key",
			`there is none here, so whether it opens the ${total} sealed values is not known; without it the service does not start`,
		),
	];
}
