// The commands below "Backups" in docs/operations.md, run as they stand there: taken, checked, put back and listed.

import { equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openSqlite } from "../../src/store/sqlite.ts";
import { openHome } from "../support/command-home.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { addOwedConversion } from "../support/rows.ts";

const OPERATIONS = new URL("../../docs/operations.md", import.meta.url);
const PROGRAM = fileURLToPath(new URL("../../src/ringback.js", import.meta.url));
const PASSPHRASE = "correct horse battery staple";

test("the documented commands take a backup, check it, restore it and list what is owed", async (t) => {
	const { folder } = openHome(t);
	const database = join(folder, "data", "ringback.db");
	const settings = {
		DATABASE_URL: `sqlite:${database}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
	};
	const account = await prepareDatabase(settings, { postbackUrl: "https://127.0.0.1:9/postback" });
	const store = openSqlite(database);
	await addOwedConversion(store, account.programme);
	await store.close();
	const prelude = `umask 077\necho "${PASSPHRASE}" > passphrase\n`;
	const taken = await run(`${prelude}${readBlock("Backups")}`, folder);
	match(taken, /monday\.backup has everything that was stored by /);
	match(taken, /^ok +key +it opens all 1 signing secrets$/m);
	const backup = join(folder, "backups", "monday.backup");
	equal((statSync(backup).mode & 0o777).toString(8), "600");

	const restored = await run(readBlock("Restoring"), folder);
	match(restored, /kept aside: .*ringback\.db\.before-/);
	equal(restored.match(/^1 callback is owed to 1 programme:$/gm)?.length, 2, "by restore, and by owed");
});

/** The first commands below a heading. */
function readBlock(heading: string): string {
	const pattern = new RegExp(`^#+ ${heading}$.*?^\`\`\`sh$\n(.*?)^\`\`\`$`, "ms");
	const [, block = ""] = pattern.exec(readFileSync(OPERATIONS, "utf8")) ?? [];
	ok(block.includes("npx --no-install ringback"), heading);
	return block.replaceAll("npx --no-install ringback", `"${process.execPath}" "${PROGRAM}"`);
}

async function run(script: string, cwd: string): Promise<string> {
	const env = { PATH: process.env["PATH"] ?? "", DATABASE_URL: "sqlite:data/ringback.db" };
	const { stdout } = await promisify(execFile)("sh", ["-ec", script], { cwd, env });
	return stdout;
}
