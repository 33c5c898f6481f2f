// The backup of docs/operations.md, run as it stands there while somebody writes: it ends, it is whole, and nobody
// else can read it.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openSqlite } from "../../src/store/sqlite.ts";
import { START_MS } from "../support/clock.ts";
import { addProgramme } from "../support/rows.ts";

const OPERATIONS = new URL("../../docs/operations.md", import.meta.url);
const KEY = "ab".repeat(32);

test("the documented backup ends under load, is whole, and can be read by its owner alone", async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-backup-"));
	mkdirSync(join(folder, "data"));
	const store = openSqlite(join(folder, "data", "ringback.db"));
	let isOver = false;
	t.after(async () => {
		isOver = true;
		await writing;
		await store.close();
		rmSync(folder, { recursive: true });
	});
	await store.migrate(START_MS);
	writeFileSync(join(folder, "data", "ringback.db.key"), KEY, { mode: 0o600 });
	for (let n = 0; n < 200; n++) await addProgramme(store);
	let written = 0;
	const writing = (async () => {
		for (; !isOver; written++) {
			await addProgramme(store);
			await new Promise((resolve) => setImmediate(resolve));
		}
	})();

	const before = written;
	const { code, said } = await run(readRecipe(), folder);
	equal(code, 0, said);
	ok(written > before, "somebody wrote meanwhile");
	for (const name of ["backup.db", "backup.db.key"]) {
		equal((statSync(join(folder, name)).mode & 0o777).toString(8), "600", name);
	}
	equal(readFileSync(join(folder, "backup.db.key"), "utf8"), KEY);
	const copy = new DatabaseSync(join(folder, "backup.db"), { readOnly: true });
	deepEqual({ ...copy.prepare("pragma integrity_check").get() }, { integrity_check: "ok" });
	const { programmes } = copy.prepare("select count(*) as programmes from programmes").get() ?? {};
	copy.close();
	ok(Number(programmes) >= 200);

	const again = await run(readRecipe(), folder);
	ok(again.code !== 0, "an older backup is not overwritten");
	match(again.said, /output file already exists/);
});

/** The commands below "Backups", ending with the first that fails, as somebody who reads what they say would. */
function readRecipe(): string {
	const [, recipe = ""] = /^## Backups$.*?^```sh$\n(.*?)^```$/ms.exec(readFileSync(OPERATIONS, "utf8")) ?? [];
	match(recipe, /umask 077\n.*VACUUM INTO/);
	return `set -e\n${recipe.replaceAll("npx node", "node")}`;
}

async function run(script: string, cwd: string): Promise<{ code: number; said: string }> {
	const PATH = `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`;
	const child = spawn("sh", ["-c", script], { cwd, env: { PATH } });
	let said = "";
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding("utf8").on("data", (text: string) => {
			said += text;
		});
	}
	const [code] = (await once(child, "close")) as [number];
	return { code, said };
}
