// The large framework and the other runtimes, installed once for each lock file outside the tree: they are most of a
// gigabyte, which nobody needs who only runs the service.

import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "../../support/run-program.ts";

const LISTS = fileURLToPath(new URL("packages/", import.meta.url));
const LIST_NAMES = ["package.json", "package-lock.json"];
/** npm's settings for this checkout, which it reads only in the folder where it runs. */
const PROJECT_SETTINGS = fileURLToPath(new URL("../../../.npmrc", import.meta.url));
/** One more try and no more: npm's own patience with a registry that is not there lasts for minutes. */
const RETRY_OPTIONS = ["--fetch-retries=1", "--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=2000"];
const INSTALL_OPTIONS = ["--no-save", "--ignore-scripts", "--prefer-offline"];
const QUIETLY = ["--no-audit", "--no-fund", "--no-update-notifier"];
/** No way to the registry, or one that npm does not trust. What is wrong with a package itself is never passed over. */
const UNREACHABLE =
	/ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)\w*|DEPTH_ZERO_SELF_SIGNED_CERT/;

/** The folder that has them in its node_modules, or why there is none. */
export type InstalledPackages = { isThere: true; folder: string } | { isThere: false; reason: string };

export async function installPackages(): Promise<InstalledPackages> {
	const lists = LIST_NAMES.map((name) => readFileSync(join(LISTS, name)));
	const hash = createHash("sha256").update(Buffer.concat(lists)).digest("hex").slice(0, 16);
	const folder = join(tmpdir(), `ringback-runtimes-${hash}`);
	if (existsSync(folder)) return { isThere: true, folder };

	// Elsewhere first: what is cut off in the middle must not be taken for the whole the next time.
	const half = mkdtempSync(`${folder}-`);
	try {
		for (const name of LIST_NAMES) copyFileSync(join(LISTS, name), join(half, name));
		if (existsSync(PROJECT_SETTINGS)) copyFileSync(PROJECT_SETTINGS, join(half, ".npmrc"));
		// Not `npm ci`: it asks for every platform's binaries, and not every mirror has them all.
		await runProgram("npm", ["install", ...INSTALL_OPTIONS, ...QUIETLY, ...RETRY_OPTIONS], half);
		if (!existsSync(folder)) renameSync(half, folder);
		return { isThere: true, folder };
	} catch (error) {
		const found = UNREACHABLE.exec(String(error));
		if (found === null) throw error;
		return { isThere: false, reason: `npm cannot reach its registry (${found[0]})` };
	} finally {
		rmSync(half, { recursive: true, force: true });
	}
}
