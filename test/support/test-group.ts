// Test files that share a process of `npm test`: a program that loads one after the other. The runner knows only its
// name, so whoever tells of it says which files they are.

import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ENDING = ".group.mjs";

/** Their paths are given from the repository on. Returns the program's path. */
export function writeTestGroup(folder: string, name: string, files: readonly string[]): string {
	const path = join(folder, `${name}${ENDING}`);
	const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(join(ROOT, file)).href)};\n`);
	writeFileSync(path, imports.join(""));
	return path;
}

export function isTestGroup(path: string): boolean {
	return path.endsWith(ENDING);
}

/** The files of a group, or the one file that it is. */
export function nameTestFiles(path: string): string {
	if (!isTestGroup(path)) return relative(ROOT, path);
	const urls = readFileSync(path, "utf8").matchAll(/^import (".+");$/gm);
	const files = [...urls].map(([, url = '""']) => relative(ROOT, fileURLToPath(JSON.parse(url))));
	return `The process of ${files.join(", ")}`;
}
