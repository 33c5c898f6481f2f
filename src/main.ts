// The `ringback` command, which ringback.js starts. It finds the subcommand, parses its options and turns
// failures into sentences.

import { messageOf } from "#core/domain/visible-text.ts";
import packageJson from "../package.json" with { type: "json" };
import {
	keyIssueCommand,
	programmeCreateCommand,
	userCreateCommand,
	userLinkCommand,
} from "./cli/accounts.ts";
import { backupCommand } from "./cli/backup.ts";
import { HOLD_COMMANDS, owedCommand, resendCommand } from "./cli/callbacks.ts";
import {
	type Command,
	CommandError,
	describeCommand,
	EXIT,
	parseOptions,
	type Screen,
} from "./cli/command.ts";
import { doctorCommand } from "./cli/doctor.ts";
import { guideCommand, licencesCommand } from "./cli/guide.ts";
import { healthCommand } from "./cli/health.ts";
import { IMPORT_COMMANDS } from "./cli/import.ts";
import { keyIssueManyCommand } from "./cli/many-keys.ts";
import { migrateCommand } from "./cli/migrate.ts";
import { moveCommand } from "./cli/move.ts";
import {
	partnerEraseCommand,
	partnerExportCommand,
	personEraseCommand,
	personExportCommand,
} from "./cli/personal-data.ts";
import { recordBackupCommand } from "./cli/record-backup.ts";
import { recordRestoreCommand } from "./cli/record-restore.ts";
import { rekeyCommand } from "./cli/rekey.ts";
import { restoreCommand } from "./cli/restore.ts";
import { describeNotAllowed, describeTakenPort, serveCommand } from "./cli/serve.ts";
import { verifyCommand } from "./cli/verify.ts";
import type { Environment } from "./config.ts";

const COMMANDS: readonly Command[] = [
	serveCommand,
	migrateCommand,
	userCreateCommand,
	userLinkCommand,
	personExportCommand,
	personEraseCommand,
	partnerExportCommand,
	partnerEraseCommand,
	programmeCreateCommand,
	keyIssueCommand,
	keyIssueManyCommand,
	...IMPORT_COMMANDS,
	doctorCommand,
	healthCommand,
	backupCommand,
	recordBackupCommand,
	recordRestoreCommand,
	restoreCommand,
	verifyCommand,
	moveCommand,
	rekeyCommand,
	owedCommand,
	...HOLD_COMMANDS,
	resendCommand,
	guideCommand,
	licencesCommand,
];

const ALTERNATIVES = new Intl.ListFormat("en-GB", { type: "disjunction" });

/**
 * Subcommands of the package for shop developers, whose executable is also called `ringback`. This program explains
 * where to find them.
 */
const OF_THE_SHOP: readonly string[] = ["listen", "trigger"];

/**
 * Runs a command and resolves to its exit code. By default it uses the terminal and the settings of this
 * process.
 */
export async function main(
	args: readonly string[],
	screen: Screen = openTerminal(),
	environment?: Environment,
): Promise<number> {
	if (args.length === 0 || asksForHelp(args[0]) || args[0] === "help") {
		screen.out(describeCommands(COMMANDS));
		return EXIT.ok;
	}
	const family = COMMANDS.filter(({ name }) => name.startsWith(`${args[0]} `));
	if (family.length > 0 && asksForHelp(args[1])) {
		screen.out(describeCommands(family));
		return EXIT.ok;
	}
	if (args[0] === "--version") {
		screen.out(packageJson.version);
		return EXIT.ok;
	}
	const command = COMMANDS.find(({ name }) => {
		const words = name.split(" ");
		return words.every((word, index) => args[index] === word);
	});
	if (command === undefined) {
		const named = args.slice(0, 2).join(" ");
		screen.error(
			OF_THE_SHOP.includes(args[0] ?? "")
				? `\`ringback ${args[0]}\` is a command of the shop's package, not of the service. Integration shows the line to paste, and /downloads on the service how to install the package.`
				: family.length > 0 && args.length === 1
					? `\`ringback ${args[0]}\` is not complete. Use ${ALTERNATIVES.format(family.map(({ name }) => `\`ringback ${name}\``))}.`
					: `There is no command "${named}". ${sayHelp(family.length > 0 ? (args[0] ?? "") : "")}`,
		);
		return EXIT.usage;
	}
	const rest = args.slice(command.name.split(" ").length);
	try {
		return await run(command, rest, screen, environment);
	} catch (error) {
		screen.error(describeFailure(error));
		return error instanceof CommandError ? error.exit : EXIT.failed;
	}
}

async function run(
	command: Command,
	args: readonly string[],
	screen: Screen,
	environment: Environment | undefined,
): Promise<number> {
	const parsed = parseOptions(command, args);
	if (!parsed.ok) {
		screen.error(`${parsed.problem}\n${sayHelp(command.name)}`);
		return EXIT.usage;
	}
	if (parsed.wantsHelp) {
		screen.out(describeCommand(command));
		return EXIT.ok;
	}
	return command.run(parsed.options, screen, environment);
}

function openTerminal(): Screen {
	// The reader of the output may close the pipe early, as in `ringback doctor | head -3`.
	process.stdout.on("error", (error: NodeJS.ErrnoException) => {
		if (error.code !== "EPIPE") throw error;
		process.exit(EXIT.ok);
	});
	return {
		out: (line) => process.stdout.write(`${line}\n`),
		error: (line) => process.stderr.write(`${line}\n`),
	};
}

/** Returns a one-line hint that names the help. The whole help would scroll the error message out of sight. */
function sayHelp(name: string): string {
	return `See \`ringback ${name === "" ? "" : `${name} `}--help\`.`;
}

function asksForHelp(arg: string | undefined): boolean {
	return arg === "--help" || arg === "-h";
}

function describeCommands(commands: readonly Pick<Command, "name" | "summary">[]): string {
	const width = Math.max(...commands.map(({ name }) => name.length));
	return [
		"Ringback tracks conversions and reports every status change to the shop by a signed callback.",
		"",
		"Usage: ringback COMMAND [OPTIONS]",
		"Start with: ringback serve",
		"",
		...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
		"",
		"ringback COMMAND --help shows a command's options. Settings come from the environment: ringback guide settings.",
		"For a shop's developer, `listen` and `trigger` are in the package that the service serves under /downloads.",
	].join("\n");
}

/**
 * Returns a sentence about a failure. A known failure has a code and advice. For any other failure, the sentence is
 * its message and never a stack trace.
 */
function describeFailure(error: unknown): string {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	switch (code) {
		case "EADDRINUSE":
			return describeTakenPort(error);
		case "EADDRNOTAVAIL":
			return "This machine does not have the address to listen on. Set HOST to one of its own, or to 0.0.0.0 for all.";
		case "ENOTFOUND":
		case "EAI_AGAIN":
			return `A host name cannot be looked up (${messageOf(error)}). Check HOST and DATABASE_URL, and that DNS works.`;
		case "EACCES":
			return describeNotAllowed(error);
		case "ECONNREFUSED":
			return "The database does not answer. Check DATABASE_URL, and that it runs.";
		default:
			return messageOf(error);
	}
}
