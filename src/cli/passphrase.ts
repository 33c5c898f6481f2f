// The passphrase that seals the key in a backup: from a file, or asked for on a terminal without showing it. Never from
// an option, where everybody on the machine could read it, nor from the environment. And what the commands that work on
// backups say meanwhile.

import { readFileSync } from "node:fs";
import { judgePassphrase } from "../domain/passphrase.ts";
import type { Screen } from "./command.ts";

/** On a terminal, what begins now; elsewhere nothing, because a timer's mail is read only when something went wrong. */
export function tellOn(screen: Screen): (stage: string) => void {
	return process.stderr.isTTY ? (stage) => screen.error(`${stage} …`) : () => undefined;
}

export type Passphrase = { ok: true; text: string } | { ok: false; problem: string };

export const PASSPHRASE_FILE = {
	type: "string",
	value: "FILE",
	help: "where the passphrase is, without a prompt: the file's first line",
} as const;

/** For a new backup: asked for twice. */
export async function choosePassphrase(file: string, screen: Screen): Promise<Passphrase> {
	const given = await read(file, screen, ["Passphrase: ", "Passphrase again: "]);
	if (!given.ok) return given;
	const problem = judgePassphrase(given.text);
	return problem === null ? given : { ok: false, problem };
}

/** For a backup that is there. */
export function readPassphrase(file: string, screen: Screen): Promise<Passphrase> {
	return read(file, screen, ["Passphrase: "]);
}

async function read(file: string, screen: Screen, questions: readonly string[]): Promise<Passphrase> {
	if (file !== "") return readFirstLine(file);
	if (process.stdin.isTTY !== true) {
		return { ok: false, problem: "--passphrase-file is missing: there is no terminal to ask for it." };
	}
	screen.error("The passphrase seals the key that opens the signing secrets.");
	const answers = new Set(await ask(questions));
	const [text = ""] = answers;
	return answers.size > 1 ? { ok: false, problem: "The two are not the same." } : { ok: true, text };
}

function readFirstLine(file: string): Passphrase {
	try {
		const [text = ""] = readFileSync(file, "utf8").split(/\r?\n/, 1);
		return { ok: true, text };
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		return { ok: false, problem: `The file with the passphrase cannot be read: ${reason}.` };
	}
}

const ENTER: readonly string[] = ["\r", "\n", "\u0004"];
const CTRL_C = "\u0003";
const BACKSPACE: readonly string[] = ["\b", "\u007f"];

/** Nothing of what is typed is shown. */
async function ask(questions: readonly string[]): Promise<string[]> {
	const { stdin, stderr } = process;
	const answers: string[] = [];
	let text = "";
	stderr.write(questions[0] ?? "");
	stdin.setEncoding("utf8");
	stdin.setRawMode(true);
	try {
		for await (const typed of stdin.iterator({ destroyOnReturn: false })) {
			for (const character of String(typed)) {
				if (character === CTRL_C) throw new Error("Broken off. Nothing was done.");
				if (ENTER.includes(character)) {
					answers.push(text);
					text = "";
					stderr.write(`\n${questions[answers.length] ?? ""}`);
					if (answers.length === questions.length) return answers;
				} else {
					text = BACKSPACE.includes(character) ? text.slice(0, -1) : `${text}${character}`;
				}
			}
		}
		return answers;
	} finally {
		stdin.setRawMode(false);
		stdin.pause();
	}
}
