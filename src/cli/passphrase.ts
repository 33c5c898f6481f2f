// Reads the passphrase that seals the key in a backup, from a file or from a terminal that does not show it.
// The passphrase is never read from an option or the environment, because others on the machine could read it
// there. This file also shows the progress of commands that work on backups.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { judgePassphrase } from "#core/domain/passphrase.ts";
import { messageOf } from "#core/domain/visible-text.ts";
import { CommandError, EXIT, type Screen } from "./command.ts";

/**
 * Returns a function that shows progress on a terminal. Without a terminal it shows nothing, because the mail
 * of a timer should only contain problems.
 */
export function tellOn(screen: Screen): (stage: string) => void {
	return process.stderr.isTTY ? (stage) => screen.error(`${stage} …`) : () => undefined;
}

export const PASSPHRASE_FILE = {
	type: "string",
	value: "FILE",
	help: "read the passphrase from the first line of this file instead of asking for it",
} as const;

/** Reads the passphrase for a new backup. On a terminal the person must type it twice. */
export async function choosePassphrase(file: string, screen: Screen): Promise<string> {
	const [text = "", ...others] = await read(file, screen, ["Passphrase: ", "Passphrase again: "]);
	if (others.some((other) => other !== text)) throw new CommandError("The two passphrases are not the same.");
	const problem = judgePassphrase(text);
	if (problem !== null) throw new CommandError(problem);
	return text;
}

export async function readPassphrase(file: string, screen: Screen): Promise<string> {
	const [text = ""] = await read(file, screen, ["Passphrase: "]);
	return text;
}

async function read(file: string, screen: Screen, questions: readonly string[]): Promise<string[]> {
	if (file !== "") return readFirstLine(file);
	if (process.stdin.isTTY !== true) {
		throw new CommandError("--passphrase-file is missing: there is no terminal to ask for it.");
	}
	screen.error("The passphrase seals the key that opens the signing secrets.");
	return ask(questions);
}

function readFirstLine(file: string): string[] {
	try {
		return readFileSync(file, "utf8").split(/\r?\n/, 1);
	} catch (error) {
		throw new CommandError(`The file with the passphrase cannot be read: ${messageOf(error)}.`);
	}
}

/** Asks questions on the terminal. The echo of readline is discarded, so that the typed text is not shown. */
async function ask(questions: readonly string[]): Promise<string[]> {
	const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
	const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
	const interrupted = new AbortController();
	terminal.once("SIGINT", () => interrupted.abort());
	try {
		const answers: string[] = [];
		for (const question of questions) {
			process.stderr.write(question);
			answers.push(await terminal.question("", { signal: interrupted.signal }));
			process.stderr.write("\n");
		}
		return answers;
	} catch (error) {
		throw interrupted.signal.aborted
			? new CommandError("Interrupted. Nothing was done.", EXIT.failed)
			: error;
	} finally {
		terminal.close();
	}
}
