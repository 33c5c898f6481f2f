// Tests that no module is missing in a list, and that the lists agree.

import { deepEqual, equal } from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { MODULES } from "./modules.ts";
import { SITE_LISTS, SITE_MODULES } from "./site-modules.ts";

/** Returns what the files of this name export, by the folder of the module. */
async function readDefinitions(file: "module.ts" | "site.ts"): Promise<Map<string, unknown>> {
	const definitions = new Map<string, unknown>();
	for (const path of globSync(`modules/*/${file}`, { cwd: import.meta.dirname })) {
		const [, folder = ""] = path.split("/");
		const [definition, another] = Object.values(await import(`./${path}`));
		equal(another, undefined, `${path} exports one definition`);
		definitions.set(folder, definition);
	}
	return definitions;
}

test("every module in the tree is in the list, under the name of its folder", async () => {
	const definitions = await readDefinitions("module.ts");
	deepEqual(definitions, new Map(MODULES.map((module) => [module.name, module])));
});

test("the pages and calls of every module are in their list, in the order of the modules", async () => {
	const definitions = await readDefinitions("site.ts");
	deepEqual(
		SITE_MODULES,
		MODULES.flatMap(({ name }) => definitions.get(name) ?? []),
	);
	deepEqual(definitions.size, SITE_MODULES.length);
});

test("no route hides a later one", () => {
	for (const { method, path } of SITE_LISTS.routes) {
		const words = path.replace(/:\w+/g, "some-id").split("/");
		const answering = SITE_LISTS.routes.find((route) => {
			const parts = route.path.split("/");
			const isMatch = parts.every(
				(part, index) => part === words[index] || (part.startsWith(":") && words[index] !== ""),
			);
			return route.method === method && parts.length === words.length && isMatch;
		});
		equal(answering?.path, path);
	}
});
