// Checks that the same version is written in all files that contain it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

export interface Versions {
	/** Version that each file contains, by file name. */
	written: Readonly<Record<string, string>>;
	/** Commands that must still be run for this version. */
	toRun: readonly string[];
	changelog: string;
}

const described = z.object({ version: z.string() });
/** Lists of the released packages that shops install, and the commands that add a version. */
const RELEASED = {
	"receiver/downloads/versions.json": "npm run pack:receiver -- --release",
	"integrations/vendure/downloads/versions.json": "npm run pack:vendure -- --release",
};
const locked = z.object({ packages: z.object({ "": described, receiver: described }) });

export function readVersions(root: string): Versions {
	const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), "utf8"));
	const { version } = described.parse(read("package.json"));
	const isReleased = (list: string) =>
		z
			.array(described)
			.parse(read(list))
			.some((released) => released.version === version);
	const { packages } = locked.parse(read("package-lock.json"));
	return {
		written: {
			"package.json": version,
			"receiver/package.json": described.parse(read("receiver/package.json")).version,
			"package-lock.json": packages[""].version,
			"integrations/vendure/package.json": described.parse(read("integrations/vendure/package.json")).version,
			"package-lock.json (receiver)": packages.receiver.version,
		},
		toRun: Object.entries(RELEASED).flatMap(([list, command]) => (isReleased(list) ? [] : [command])),
		changelog: readFileSync(join(root, "CHANGELOG.md"), "utf8"),
	};
}

export function findVersionProblems({ written, toRun, changelog }: Versions): string[] {
	const version = written["package.json"];
	const others = Object.entries(written).filter(([, each]) => each !== version);
	const dates = new Map(
		[...changelog.matchAll(/^## \[(.+)\](?: - (.+))?$/gm)].map(([, name = "", date = ""]) => [name, date]),
	);
	const date = dates.get(version ?? "");
	const unreleased = changelog.split(/^## /m).find((section) => section.startsWith("[Unreleased]"));
	return [
		...others.map(([file, other]) => `${file} says ${other}, package.json ${version}: make them the same.`),
		...toRun.map((command) => `Run "${command}" and commit what it writes.`),
		...(date === undefined
			? [`CHANGELOG.md has no section "## [${version}]". Write what changes for people who upgrade.`]
			: []),
		...(date !== undefined && !/^\d{4}-\d\d-\d\d$/.test(date)
			? [`CHANGELOG.md has no date for ${version}. Write "## [${version}] - YYYY-MM-DD".`]
			: []),
		...(unreleased !== undefined && /\S/.test(unreleased.replace("[Unreleased]", ""))
			? [`CHANGELOG.md has changes under "[Unreleased]". Move them below "## [${version}]".`]
			: []),
	];
}
