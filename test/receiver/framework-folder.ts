// The real frameworks and runtimes, installed once per lock outside the tree: they are half a gigabyte that
// nobody needs who only runs the service.

import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "./run-program.ts";

const LISTS = fileURLToPath(new URL("frameworks/", import.meta.url));
const LIST_NAMES = ["package.json", "package-lock.json"];
/** One more try and no more: npm's own patience with a registry that is not there lasts for minutes. */
const RETRY_OPTIONS = ["--fetch-retries=1", "--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=2000"];
const INSTALL_OPTIONS = ["--no-save", "--no-audit", "--no-fund", "--prefer-offline", ...RETRY_OPTIONS];
const UNREACHABLE = /ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENOTCACHED/;

/** The folder that has them in its node_modules, or why there is none: the registry could not be reached. */
export type Frameworks = { isThere: true; folder: string } | { isThere: false; reason: string };

export async function openFrameworks(): Promise<Frameworks> {
	const lists = LIST_NAMES.map((name) => readFileSync(join(LISTS, name)));
	const hash = createHash("sha256").update(Buffer.concat(lists)).digest("hex").slice(0, 16);
	const folder = join(tmpdir(), `ringback-frameworks-${hash}`);
	if (existsSync(folder)) return { isThere: true, folder };

	// Elsewhere first: what is cut off in the middle must not be taken for the whole the next time.
	const half = mkdtempSync(`${folder}-`);
	try {
		for (const name of LIST_NAMES) copyFileSync(join(LISTS, name), join(half, name));
		// Not `npm ci`: it asks for every platform's binaries, and not every mirror has them all.
		await runProgram("npm", ["install", ...INSTALL_OPTIONS], half);
		if (!existsSync(folder)) renameSync(half, folder);
		return { isThere: true, folder };
	} catch (error) {
		const found = UNREACHABLE.exec(String(error));
		if (found === null) throw error;
		return { isThere: false, reason: `the frameworks could not be installed from npm: ${found[0]}` };
	} finally {
		rmSync(half, { recursive: true, force: true });
	}
}
