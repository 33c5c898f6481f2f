// Reads the version of the package from its package.json.

import { createRequire } from "node:module";

export function readVersion(): string {
	const described: unknown = createRequire(import.meta.url)("@ringback/receiver/package.json");
	const isVersioned = typeof described === "object" && described !== null && "version" in described;
	return isVersioned ? String(described.version) : "unknown";
}
