import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { NODE_OPTIONS } from "../../release/executable.ts";

test("npm start, the command and the executable set the same limit for new objects", () => {
	const [firstLine = ""] = readFileSync(new URL("../ringback.js", import.meta.url), "utf8").split("\n");
	const [bound] = /--max-semi-space-size=\d+/.exec(firstLine) ?? [];
	assert.ok(bound !== undefined, firstLine);
	assert.ok(packageJson.scripts.start.split(" ").includes(bound), packageJson.scripts.start);
	assert.deepEqual(NODE_OPTIONS, [bound]);
});
