// `ringback restore PATH` restores a backup, and then lists the callbacks that the restored service will
// send.

import { openSqliteToRead } from "#core/store/sqlite/store.ts";
import type { Config } from "../config.ts";
import type { RestoredKey, RestoreReport } from "../service/restore.ts";
import { describeOwed, type Owed, owedJson, readOwed } from "./callbacks.ts";
import { type Command, CommandError, EXIT, JSON_OPTION, withSettings } from "./command.ts";
import { PASSPHRASE_FILE, readPassphrase, tellOn } from "./passphrase.ts";
import { commandToErase } from "./personal-data.ts";

export const restoreCommand: Command = {
	name: "restore",
	summary:
		"Restores a backup. It checks the backup first, renames an existing database instead of deleting it, and lists the callbacks that the restored service will send. Stop the service first.",
	argument: { value: "PATH", help: "a file that `ringback backup` wrote" },
	options: {
		to: {
			type: "string",
			value: "FILE",
			help: "the SQLite file to make; the one in DATABASE_URL if left out",
		},
		"passphrase-file": PASSPHRASE_FILE,
		force: {
			type: "boolean",
			help: "replace an existing database, which is renamed with the time in its name",
		},
		json: JSON_OPTION,
	},
	run: withSettings(async (options, screen, config) => {
		const to = findTarget(options.text("to"), config);
		const { restoreSqlite } = await import("../service/restore.ts");
		const report = await restoreSqlite(config, {
			path: options.argument,
			to,
			readPassphrase: () => readPassphrase(options.text("passphrase-file"), screen),
			mayReplace: options.flag("force"),
			tell: tellOn(screen),
		});
		const store = openSqliteToRead(report.to);
		try {
			// Queries may not work with an older schema, so the owed callbacks are not listed if the database must first be
			// migrated.
			const owed = report.isToBeMigrated ? null : await readOwed(store.db, report.restoredAtMs);
			if (options.flag("json")) screen.out(JSON.stringify(reportJson(report, owed)));
			else for (const line of describeReport(report, owed)) screen.out(line);
		} finally {
			await store.close();
		}
		return EXIT.ok;
	}),
};

/** Returns the path from the option, or by default the path from DATABASE_URL. */
function findTarget(given: string, { database }: Config): string {
	if (given !== "") return given.replace(/^sqlite:/, "");
	if (database.kind === "sqlite") return database.path;
	throw new CommandError(
		"DATABASE_URL names a PostgreSQL database, and a backup holds a SQLite one. Name the file to make with --to; a dump is restored with pg_restore (`ringback guide postgresql-backups`).",
	);
}

/**
 * Returns lines that list the people who were erased after the backup, because the restored database contains their
 * data again. `toEraseAgain` is null if this machine does not know who was erased.
 */
export function describeErased(createdAt: string, toEraseAgain: readonly string[] | null): string[] {
	if (toEraseAgain === null) {
		return [
			`People and partners who were erased after ${createdAt} are here again. Erase them again: your list of erasures and the service's log have their IDs.`,
		];
	}
	if (toEraseAgain.length === 0) return [];
	return [
		`These were erased after ${createdAt} and are here again. Erase them again:`,
		...toEraseAgain.map((id) => `  ${commandToErase(id)}`),
	];
}

const KEY_WORDS: Readonly<Record<RestoredKey, string>> = {
	written: "the key is in the .key file beside it",
	"there already": "the key that is here opens its signing secrets",
	"setting differs":
		"WARNING: its key is in the .key file beside it, and RINGBACK_SECRET_KEY is another one, so the service does not start. If the key was replaced after the backup, set RINGBACK_FORMER_SECRET_KEY_FILE={file}, start, and run `ringback rekey`. Otherwise remove RINGBACK_SECRET_KEY",
	missing:
		"WARNING: the backup has no key, and there is none here that opens its signing secrets. The service does not start until you set the right RINGBACK_SECRET_KEY or put the .key file beside it",
	"not needed": "nothing is sealed in it yet, so it needs no key",
};

const OTHER_KEY =
	"it has another sealing key than the one that was here before. If that key was replaced on purpose, run `ringback rekey` after the start";

/** Returns lines that say how to avoid paying somebody twice after a restore. */
export function describeUnknownPayments(asOf: string): string[] {
	return [
		`PAYMENTS that were recorded after ${asOf} are not known any more. Statements may be to be paid here, or be issued again, that were paid already. So there is no payout file until staff have compared the payments with the bank: the page Statements has the steps, and \`ringback guide payouts\` explains them.`,
	];
}

function reportJson(
	{ to, manifest, keptAside, key, broken, isToBeMigrated, toEraseAgain }: RestoreReport,
	owed: Owed | null,
): object {
	const { createdAt, schema } = manifest;
	const facts = {
		to,
		createdAt,
		paymentsUnknownSince: createdAt,
		schemaVersion: schema.version,
		isToBeMigrated,
		key,
		keptAside,
		broken,
		toEraseAgain,
	};
	return { ...facts, owed: owed === null ? null : owedJson(owed) };
}

function describeReport(
	{ to, manifest, keptAside, key, hasReplacedKey, broken, isToBeMigrated, toEraseAgain }: RestoreReport,
	owed: Owed | null,
): string[] {
	const { createdAt, schema } = manifest;
	return [
		`${to} is as it was at ${createdAt}. What was stored after that is not in it.`,
		`  ${KEY_WORDS[key].replace("{file}", `${to}.key`)}`,
		...(hasReplacedKey ? [`  ${OTHER_KEY}`] : []),
		...keptAside.map((path) => `  kept aside: ${path}`),
		...broken.map(({ count, problem }) => `  WARNING: the ledger does not balance: ${count} ${problem}`),
		...(isToBeMigrated
			? [`  its schema, version ${schema.version}, is migrated when the service starts`]
			: []),
		"",
		...(owed === null
			? [
					"To list what it will send, migrate the database first: run `ringback hold`, which does that, then `ringback owed`.",
				]
			: describeOwed(owed)),
		"",
		`Callbacks that were delivered after ${createdAt} are sent again, because Ringback cannot know of them. Receivers recognize a callback by conversionId and event, and process each once.`,
		...describeUnknownPayments(createdAt),
		"What was reported or decided after that is gone. Shops may report their orders again. An order that is already here is not recorded twice.",
		...describeErased(createdAt, toEraseAgain),
		"",
		"To hold callbacks until you have looked around, run `ringback hold` before you start the service.",
		"`ringback owed` lists them again at any time, and `ringback release` sends them.",
	];
}
