// Reads the code blocks of the operations guide. The comment before each block says how the block is tested.
// The blocks run in a shell exactly as written.

import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { GUIDE_PARTS, GUIDE_START } from "../../src/operations-guide.ts";
import { COMPILE_CACHE } from "./compile-cache.ts";
import { loaderArguments } from "./loader-arguments.ts";

export interface GuideBlock {
	/** Path of the document in the repository. */
	file: string;
	language: string;
	text: string;
	/**
	 * How the block is tested (`run`, `tested`, `file` or `by hand`), and the words after that. Null if the
	 * comment is missing.
	 */
	proof: { kind: string; by: string } | null;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BLOCK = /(?:^<!-- ([a-z ]+): (.*?) -->\n)?^```(\S*)\n(.*?)^```$/gms;

export const GUIDE_BLOCKS: readonly GuideBlock[] = [GUIDE_START, ...GUIDE_PARTS].flatMap(({ file }) =>
	[...readFileSync(join(ROOT, file), "utf8").matchAll(BLOCK)].map(
		([, kind, by = "", language = "", text = ""]) => ({
			file,
			language,
			text,
			proof: kind === undefined ? null : { kind, by },
		}),
	),
);

/** Returns all blocks to run under this name, in the order of the guide. */
export function blocksToRun(name: string): string[] {
	const found = GUIDE_BLOCKS.filter(({ proof }) => proof?.kind === "run" && proof.by === name);
	if (found.length === 0) throw new Error(`the guide has nothing to run that is called ${name}`);
	return found.map(({ text }) => text);
}

/** Returns the block with this name. Fails if there are several. */
export function blockToRun(name: string): string {
	const [text = "", ...others] = blocksToRun(name);
	if (others.length > 0) throw new Error(`the guide has several blocks that are called ${name}`);
	return text;
}

/** Parses lines of the form `NAME=value` (our settings) or `name = 'value'` (PostgreSQL's settings). */
export function readSettings(text: string): Record<string, string> {
	const lines = text.trimEnd().split("\n");
	return Object.fromEntries(
		lines.map((line) => {
			const [, name = "", value = ""] = /^(\w+) ?= ?(.*)$/.exec(line) ?? [];
			return [name, value.replace(/^'(.*)'$/, "$1")];
		}),
	);
}

export interface ShellOptions {
	folder: string;
	settings: Readonly<Record<string, string>>;
	/** Folder that is put first in the PATH. */
	programs?: string;
	account?: { uid: number; gid: number } | undefined;
}

/**
 * Runs the commands in a shell and returns their output. If a command fails, the error contains all output.
 */
export async function runInShell(
	script: string,
	{ folder, settings, programs, account }: ShellOptions,
): Promise<string> {
	const path = [programs, putRingback(folder), process.env["PATH"]].filter((each) => each !== undefined);
	const env = { TMPDIR: folder, PATH: path.join(":"), ...settings };
	const { stdout, stderr } = await promisify(execFile)("sh", ["-ec", script], {
		cwd: folder,
		env,
		...account,
	});
	return `${stdout}${stderr}`;
}

/**
 * Writes an executable named `ringback` below the folder, like an installed command. Returns the folder that
 * contains it.
 */
export function putRingback(folder: string): string {
	const bin = join(folder, "bin");
	mkdirSync(bin, { recursive: true });
	const program = join(bin, "ringback");
	const command = [process.execPath, ...loaderArguments(), `${ROOT}/src/ringback.js`].map(
		(word) => `"${word}"`,
	);
	const settings = `NODE_COMPILE_CACHE="${COMPILE_CACHE}"`;
	writeFileSync(program, `#!/bin/sh\n${settings} exec ${command.join(" ")} "$@"\n`);
	chmodSync(program, 0o755);
	return bin;
}
