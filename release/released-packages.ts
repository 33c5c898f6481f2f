// Lists the packages inside the executable with their licences. A licence that nobody has reviewed stops the
// release.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type LockedPackage, type LockFile, lockedAt } from "./lock-file.ts";

export interface ReleasedPackage extends LockedPackage {
	/** SPDX identifier of the licence. */
	licence: Licence;
}

/** Licences that allow shipping a copy together with the licence text, which LICENSES.txt contains. */
const ALLOWED = ["0BSD", "Apache-2.0", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "Unlicense"] as const;
export type Licence = (typeof ALLOWED)[number];

/** Licence names in packages that differ from SPDX. */
const OTHER_SPELLINGS: Readonly<Record<string, Licence>> = { "BSD-0-Clause": "0BSD" };

const describedSchema = z.object({
	license: z.string().optional(),
	licenses: z.array(z.object({ type: z.string() })).optional(),
});

export function describePackages(root: string, lock: LockFile, paths: readonly string[]): ReleasedPackage[] {
	return [...new Set(paths)].sort().map((path) => {
		const locked = lockedAt(lock, path);
		const described = describedSchema.parse(
			JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")),
		);
		const written = described.license ?? described.licenses?.[0]?.type ?? "none";
		const licence = OTHER_SPELLINGS[written] ?? ALLOWED.find((allowed) => allowed === written);
		if (licence === undefined)
			throw new Error(
				`${locked.name} is under the licence "${written}". Find out whether it may be shipped; if so, add it to release/released-packages.ts.`,
			);
		return { ...locked, licence };
	});
}
