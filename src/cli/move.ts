// `ringback move URL` copies the SQLite file into PostgreSQL, and prints the settings to change.

import { resolve } from "node:path";
import { splitHosts } from "#core/store/postgres/setting.ts";
import type { MoveReport } from "../service/move.ts";
import { type Command, CommandError, EXIT, JSON_OPTION, withSettings } from "./command.ts";

export const moveCommand: Command = {
	name: "move",
	summary:
		"Copies everything in the SQLite file of a stopped service into an empty PostgreSQL database, checks both, and says which settings to change.",
	argument: {
		value: "URL",
		help: "the empty database, postgres://user:password@host:5432/database; the server itself, not a pooler",
	},
	options: { json: JSON_OPTION },
	notes: [
		"Stop the service first, and run this with its settings: DATABASE_URL still names the file. The file is not changed. If the command is interrupted, the new database stays empty. Run it again.",
		"Without a password in URL, PGPASSWORD or a file named by PGPASSFILE gives it.",
		"Example: ringback move postgres://ringback@db.example:5432/ringback",
	],
	run: withSettings(async (options, screen, { database, secretKey, formerSecretKey }) => {
		const url = options.argument;
		if (database.kind !== "sqlite") {
			throw new CommandError(
				"DATABASE_URL must name the SQLite file to move, as it did for the service: sqlite:PATH.",
			);
		}
		if (splitHosts(url) === undefined)
			throw new CommandError("URL must be postgres://user:password@host:5432/database.");
		const { moveToPostgres } = await import("../service/move.ts");
		const path = resolve(database.path);
		// Progress is shown even without a terminal, because the command takes minutes and a person waits for it.
		const tell = (stage: string) => screen.error(`${stage} …`);
		const report = await moveToPostgres({ secretKey, formerSecretKey }, path, url, tell);
		const json = { from: path, rows: Object.fromEntries(report.counts), broken: report.broken };
		const inFile = `=… the line in ${path}.key, or RINGBACK_SECRET_KEY_FILE=${path}.key`;
		const key = secretKey === null ? inFile : " stays as it is";
		if (options.flag("json")) screen.out(JSON.stringify(json));
		else for (const line of describeReport(report, path, url, key)) screen.out(line);
		return EXIT.ok;
	}),
};

function describeReport({ counts, broken }: MoveReport, path: string, url: string, key: string): string[] {
	const rows = [...counts.values()].reduce((sum, count) => sum + count, 0);
	const shown = new URL(url);
	if (shown.password !== "") shown.password = "PASSWORD";
	return [
		`Moved ${rows} rows in ${counts.size} tables. Each table has as many rows as in the file.`,
		broken.length === 0
			? "The ledger balances at both ends."
			: "WARNING: the ledger does not balance, in the file either:",
		...broken.map(({ count, problem }) => `  ${count} ${problem}`),
		`The service sends ${counts.get("queue") ?? 0} waiting callbacks when it starts, each when it is due.`,
		"",
		"Change these settings, the same for every process:",
		`  DATABASE_URL=${shown.href}`,
		`  RINGBACK_SECRET_KEY${key}`,
		"Then run `ringback doctor`, and start the service.",
		"",
		`Keep ${path} and its .key file as a backup of this moment. Do not start a service on the file again: it would send the same callbacks a second time.`,
		"`ringback backup` does not back up PostgreSQL: see `ringback guide postgresql-backups`.",
	];
}
