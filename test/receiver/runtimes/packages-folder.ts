// Installs the large framework and the other runtimes once per lock file, outside the repository, because
// they take most of a gigabyte that nobody needs to run the service.

import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "../../support/run-program.ts";

const LISTS = fileURLToPath(new URL("packages/", import.meta.url));
const LIST_NAMES = ["package.json", "package-lock.json"];
/** npm's settings for this checkout, which npm reads only in the folder where it runs. */
const PROJECT_SETTINGS = fileURLToPath(new URL("../../../.npmrc", import.meta.url));
/**
 * npm options that allow only one retry, because npm itself would wait for minutes for an unreachable
 * registry.
 */
const RETRY_OPTIONS = ["--fetch-retries=1", "--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=2000"];
const INSTALL_OPTIONS = ["--no-save", "--ignore-scripts", "--prefer-offline"];
const QUIETLY = ["--no-audit", "--no-fund", "--no-update-notifier"];
/** Messages for an unreachable or untrusted registry. A problem with a package itself is never ignored. */
const UNREACHABLE =
	/ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)\w*|DEPTH_ZERO_SELF_SIGNED_CERT/;

/** Folder whose node_modules contains the packages, or the reason why they are not installed. */
export type InstalledPackages = { isThere: true; folder: string } | { isThere: false; reason: string };

export async function installPackages(): Promise<InstalledPackages> {
	const lists = LIST_NAMES.map((name) => readFileSync(join(LISTS, name)));
	const hash = createHash("sha256").update(Buffer.concat(lists)).digest("hex").slice(0, 16);
	const folder = join(tmpdir(), `ringback-runtimes-${hash}`);
	if (existsSync(folder)) return { isThere: true, folder };

	// The packages are installed in a temporary folder first, so that an interrupted install is not taken for a
	// complete one.
	const half = mkdtempSync(`${folder}-`);
	try {
		for (const name of LIST_NAMES) copyFileSync(join(LISTS, name), join(half, name));
		if (existsSync(PROJECT_SETTINGS)) copyFileSync(PROJECT_SETTINGS, join(half, ".npmrc"));
		// `npm ci` is not used, because it asks for every platform's binaries, which not every mirror has.
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
