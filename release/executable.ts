// Builds the executable, a single file with Node, our program and its shipped files, in Node's own
// single-executable format.

import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ShippedFile } from "./shipped-files.ts";

/** Options for Node, the same that `npm start` uses. src/cli/heap-bounds.ts explains them. */
export const NODE_OPTIONS = ["--max-semi-space-size=8"];

export interface ExecutableParts {
	/**
	 * Path of the Node binary to use. It may be for another processor architecture, but must have the same
	 * version as the running Node.
	 */
	node: string;
	code: Uint8Array;
	files: readonly ShippedFile[];
	output: string;
	/** Empty folder that only this build uses, because Node reads its input from files. */
	workFolder: string;
}

export async function makeExecutable(parts: ExecutableParts): Promise<void> {
	const { node, code, files, output, workFolder } = parts;
	mkdirSync(join(workFolder, "files"), { recursive: true });
	const assets = files.map(({ path, bytes }, number) => {
		const file = join("files", String(number));
		writeFileSync(join(workFolder, file), bytes);
		return [path, file] as const;
	});
	writeFileSync(join(workFolder, "ringback.mjs"), code);
	const config = {
		// The name has no path, because it is stored in the executable, which must not reveal where it was built.
		main: "ringback.mjs",
		mainFormat: "module",
		executable: node,
		output,
		disableExperimentalSEAWarning: true,
		// V8's code cache is not used. It would differ in each build, and works only on one processor
		// architecture.
		useCodeCache: false,
		useSnapshot: false,
		execArgv: NODE_OPTIONS,
		assets: Object.fromEntries(assets),
	};
	writeFileSync(join(workFolder, "executable.json"), JSON.stringify(config));
	await promisify(execFile)(process.execPath, ["--build-sea", "executable.json"], { cwd: workFolder });
	chmodSync(output, 0o755);
}
