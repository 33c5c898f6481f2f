// The package as a shop gets it: staged, packed by npm, and installed from the tarball.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stageReceiver } from "../../receiver/stage.ts";
import { runProgram } from "./run-program.ts";

/** Nothing is asked of a registry on the side, and nothing said that is no error: `--json` is to be all there is. */
const QUIETLY = ["--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier"];

export interface PackedPackage {
	tarball: string;
	/** Makes the folder and installs the tarball into it, without a registry: it has no dependencies. */
	installInto(folder: string): Promise<void>;
	remove(): void;
}

export async function packPackage(): Promise<PackedPackage> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-packed-"));
	const staged = join(folder, "staged");
	stageReceiver(staged);
	const [{ filename }] = JSON.parse(
		await runProgram("npm", ["pack", ...QUIETLY, "--json", "--pack-destination", folder], staged),
	);
	const tarball = join(folder, filename);
	return {
		tarball,
		async installInto(target) {
			mkdirSync(target, { recursive: true });
			writeFileSync(join(target, "package.json"), '{ "private": true, "type": "module" }\n');
			await runProgram("npm", ["install", ...QUIETLY, "--offline", tarball], target);
		},
		remove: () => rmSync(folder, { recursive: true }),
	};
}
