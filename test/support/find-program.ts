import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Additional folders to search. Debian installs servers in folders that only the administrator's PATH
 * contains.
 */
const BESIDES = ["/usr/sbin", "/usr/local/sbin"];

/** Returns the path of the program, or undefined if it is not installed. */
export function findProgram(name: string): string | undefined {
	const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...BESIDES];
	return folders.map((folder) => join(folder, name)).find(isRunnable);
}

function isRunnable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		// This folder has no such executable, but another folder may have one.
		return false;
	}
}
