// Tests that the lists of modules are complete.

import { deepEqual } from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { MODULES } from "./modules.ts";

const FOLDER = import.meta.dirname;

test("every module in the tree is in the list", async () => {
	const files = globSync("modules/*/module.ts", { cwd: FOLDER });
	const defined = await Promise.all(files.map(async (file) => Object.values(await import(`./${file}`))));
	deepEqual(new Set(defined.flat()), new Set(MODULES));
	deepEqual(files.map((file) => file.split("/")[1]).sort(), MODULES.map(({ name }) => name).sort());
});
