// Where a program of the machine is.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Debian puts servers where only the administrator's PATH leads. */
const BESIDES = ["/usr/sbin", "/usr/local/sbin"];

/** Undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
	const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...BESIDES];
	return folders.map((folder) => join(folder, name)).find(isRunnable);
}

function isRunnable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		// Not here, or not for us: the next folder may have it.
		return false;
	}
}
