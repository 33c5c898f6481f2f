// Checks that the same version is written in all files that contain it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

export interface Versions {
	/** Version that each file contains, by file name. */
	written: Readonly<Record<string, string>>;
	changelog: string;
}

const described = z.object({ version: z.string() });
const downloads = z.tuple([described], described);
const locked = z.object({ packages: z.object({ "": described, receiver: described }) });

export function readVersions(root: string): Versions {
	const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), "utf8"));
	const { packages } = locked.parse(read("package-lock.json"));
	return {
		written: {
			"package.json": described.parse(read("package.json")).version,
			"receiver/package.json": described.parse(read("receiver/package.json")).version,
			"package-lock.json": packages[""].version,
			"receiver/downloads/versions.json": downloads.parse(read("receiver/downloads/versions.json"))[0]
				.version,
			"integrations/vendure/package.json": described.parse(read("integrations/vendure/package.json")).version,
			"integrations/vendure/downloads/versions.json": downloads.parse(
				read("integrations/vendure/downloads/versions.json"),
			)[0].version,
			"package-lock.json (receiver)": packages.receiver.version,
		},
		changelog: readFileSync(join(root, "CHANGELOG.md"), "utf8"),
	};
}

export function findVersionProblems({ written, changelog }: Versions): string[] {
	const version = written["package.json"];
	const others = Object.entries(written).filter(([, each]) => each !== version);
	const dates = new Map(
		[...changelog.matchAll(/^## \[(.+)\](?: - (.+))?$/gm)].map(([, name = "", date = ""]) => [name, date]),
	);
	const date = dates.get(version ?? "");
	const unreleased = changelog.split(/^## /m).find((section) => section.startsWith("[Unreleased]"));
	return [
		...others.map(([file, other]) => `${file} says ${other}, package.json ${version}: make them the same.`),
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
