// Which version of the package this is: its own package.json says so, in the repository as where it is installed.

import { createRequire } from "node:module";

export function readVersion(): string {
	const described: unknown = createRequire(import.meta.url)("@ringback/receiver/package.json");
	const isVersioned = typeof described === "object" && described !== null && "version" in described;
	return isVersioned ? String(described.version) : "unknown";
}
