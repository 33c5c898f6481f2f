// The blocks of code in the operations guide, each with the comment before it that says how it is known to work, and a
// shell in which they run as they stand there.

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
	/** `run`, `tested`, `file` or `by hand`, and what stands behind it. Null: there is no such comment. */
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

/** All that are to be run under this name, in the order of the guide. */
export function blocksToRun(name: string): string[] {
	const found = GUIDE_BLOCKS.filter(({ proof }) => proof?.kind === "run" && proof.by === name);
	if (found.length === 0) throw new Error(`the guide has nothing to run that is called ${name}`);
	return found.map(({ text }) => text);
}

/** The only one of its name. */
export function blockToRun(name: string): string {
	const [text = "", ...others] = blocksToRun(name);
	if (others.length > 0) throw new Error(`the guide has several blocks that are called ${name}`);
	return text;
}

/** `NAME=value` or `name = 'value'` a line: settings of ours, or of PostgreSQL. */
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
	/** Before all others in the path. */
	programs?: string;
	account?: { uid: number; gid: number } | undefined;
}

/** What they print. Fails, with all that was said, when one of the commands does. */
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

/** `ringback` as it is typed where it is installed. */
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
