// One file that is Node, our program and the files it ships with: Node's own single-executable form, made by Node.

import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ShippedFile } from "./shipped-files.ts";

/** What `npm start` gives Node, too (src/cli/heap-bounds.ts says why). */
export const NODE_OPTIONS = ["--max-semi-space-size=8"];

export interface ExecutableParts {
	/** The Node that it is made of; it need not be of this machine's kind, but of the version that runs this. */
	node: string;
	code: Uint8Array;
	files: readonly ShippedFile[];
	output: string;
	/** Empty, and nobody else's: Node reads what goes in from files. */
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
		// A name and no path: it is kept in the executable, which must not say where it was made.
		main: "ringback.mjs",
		mainFormat: "module",
		executable: node,
		output,
		disableExperimentalSEAWarning: true,
		// V8's would be other bytes each time, and of use on this machine's kind alone.
		useCodeCache: false,
		useSnapshot: false,
		execArgv: NODE_OPTIONS,
		assets: Object.fromEntries(assets),
	};
	writeFileSync(join(workFolder, "executable.json"), JSON.stringify(config));
	await promisify(execFile)(process.execPath, ["--build-sea", "executable.json"], { cwd: workFolder });
	chmodSync(output, 0o755);
}
