// Reads the programs in the package's README: each code block whose first line is a comment with its file
// name.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const README = new URL("../../receiver/README.md", import.meta.url);
const SENDER = new URL("../../examples/node/sender.mjs", import.meta.url);

export type ReadmePrograms = ReadonlyMap<string, string>;

export function readPrograms(): ReadmePrograms {
	const blocks = readFileSync(README, "utf8").matchAll(/^```js\n\/\/ (\S+)\n(.*?)^```$/gms);
	return new Map(Array.from(blocks, ([, name = "", program = ""]) => [name, program]));
}

/**
 * Returns the programs that are also valid TypeScript: in JavaScript, those without a function whose
 * arguments need a type.
 */
export function readTypedPrograms(): Readonly<Record<string, string>> {
	const readme = readFileSync(README, "utf8");
	const [client = ""] = /<!-- client -->.*<!-- \/client -->/s.exec(readme) ?? [];
	const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms), ...client.matchAll(/^```js\n(.*?)^```$/gms)];
	const named = blocks.map(([, program = ""], index) => [`readme-${index}.ts`, program]);
	return { ...Object.fromEntries(named), "sender.ts": readFileSync(SENDER, "utf8") };
}

export function writePrograms(programs: ReadmePrograms, folder: string): void {
	for (const [name, program] of programs) {
		mkdirSync(join(folder, dirname(name)), { recursive: true });
		writeFileSync(join(folder, name), program);
	}
}

/**
 * Returns the programs with work that blocks the thread forever, so that an answer that waits for the work
 * never arrives.
 */
export function makeBusy(programs: ReadmePrograms): ReadmePrograms {
	return new Map(
		Array.from(programs, ([name, program]) => [
			`busy-${name}`,
			program.replace(/^(\t*)console\.log\(`\$\{event\.event\}/m, "$1for (;;) Math.sqrt(2);\n$&"),
		]),
	);
}
