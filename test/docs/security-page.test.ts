// docs/security.md promises a test for each row. Every test file that it names must exist.

import { deepEqual, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const ROOT = new URL("../../", import.meta.url);
const PAGE = readFileSync(new URL("docs/security.md", ROOT), "utf8");
const ROWS = PAGE.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| threat |"));

test("each row of docs/security.md names tests, and each of them exists", () => {
	ok(ROWS.length > 30, `${ROWS.length} rows`);
	const missing = ROWS.flatMap((row) => {
		const [threat = "", , tests = ""] = row.split(" | ");
		const named = [...tests.matchAll(/`([^`]+\.test\.ts)`/g)].flatMap(([, path]) => path ?? []);
		if (named.length === 0) return [`${threat}: names no test`];
		return named.filter((path) => !existsSync(new URL(path, ROOT))).map((path) => `${threat}: ${path}`);
	});
	deepEqual(missing, []);
});
