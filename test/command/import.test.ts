// Tests imports from other software with the real command: the sample files of the operations guide, a
// process that is killed on the way, and the result file.

import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { type Home, hasStack, openMigratedHome } from "../support/command-home.ts";

const GUIDE = readFileSync(new URL("../../docs/operations/import.md", import.meta.url), "utf8");
const KINDS = [
	"programmes",
	"people",
	"partners",
	"links",
	"codes",
	"conversions",
	"open-conversions",
] as const;

function writeSamples(home: Home): void {
	for (const kind of KINDS) {
		const [, behind = ""] = GUIDE.split(`\n\`${kind}.csv\`: `);
		const [, text] = behind.split("```csv\n").flatMap((part) => part.split("```\n")[0] ?? []);
		if (text === undefined) throw new Error(`the guide has no ${kind}.csv`);
		writeFileSync(join(home.folder, `${kind}.csv`), text);
	}
}

function read<Row>(home: Home, sql: string): Row[] {
	const database = new DatabaseSync(home.databasePath, { readOnly: true });
	try {
		return database.prepare(sql).all() as Row[];
	} finally {
		database.close();
	}
}

describe("ringback import", { concurrency: 2 }, () => {
	test("ringback import imports the guide's sample files once, and nobody is notified", async (t) => {
		const home = await openMigratedHome(t);
		writeSamples(home);
		for (const kind of KINDS) {
			const shown = await home.runHere(["import", kind, join(home.folder, `${kind}.csv`)]);
			match(
				shown.stdout,
				/^ {2}Will be imported {2}[1-9]$[\s\S]*^Nothing was imported yet: run it again with --yes\.$/m,
			);
			equal(shown.code, 1, "a script that forgot --yes must not go on");
			const done = await home.runHere(["import", kind, join(home.folder, `${kind}.csv`), "--yes"]);
			deepEqual([done.code, done.stderr], [0, ""]);
			match(done.stdout, /^ {2}Imported {10}[1-9]$[\s\S]*^ {2}Needs fixing {6}0$/m);
			const again = await home.runHere(["import", kind, join(home.folder, `${kind}.csv`), "--yes", "--json"]);
			equal(again.code, 0);
			const { applied, counts } = JSON.parse(again.stdout);
			deepEqual([applied, counts.import, counts.refused], [false, 0, 0]);
		}
		deepEqual(read(home, "select status, source, basket_value from conversions order by id").slice(0, 1), [
			Object.assign(Object.create(null), { status: "APPROVED", source: "import", basket_value: "129.90" }),
		]);
		for (const table of ["events", "deliveries", "queue", "mail_queue", "changes_to_tell"]) {
			deepEqual(read<{ n: number }>(home, `select count(*) as n from ${table}`)[0]?.n, 0, table);
		}
	});

	test("the result file has advice for every line and no formula that runs, and can be imported again after corrections", async (t) => {
		const home = await openMigratedHome(t);
		writeSamples(home);
		await home.runHere(["import", "programmes", join(home.folder, "programmes.csv"), "--yes"]);
		const bad = `programme;order_id;status;sold_at;amount\nGarden Shop;=1+1;approved;1.2.2026;9,5\nGarden Shop;B;open;1.2.2026;1\n`;
		writeFileSync(join(home.folder, "bad.csv"), bad);
		const path = join(home.folder, "result.csv");
		const args = ["import", "conversions", join(home.folder, "bad.csv"), "--yes", "--result", path];
		const done = await home.runHere(args);
		equal(done.code, 1, "something needs fixing");
		match(done.stdout, /^ {2}line 3: The status must be .* with a file of open conversions/m);
		const result = readFileSync(path, "utf8");
		match(result, /^2,imported,,Garden Shop,'=1\+1,/m);
		match(result, /^3,needs_fixing,"The status must be/m);
		equal(statSync(path).mode & 0o777, 0o600);
		match((await home.runHere(args)).stderr, /^There is a file \S+result\.csv already\./);
		writeFileSync(path, result.replace(",open,", ",approved,"));
		const fixed = await home.runHere(["import", "conversions", path, "--yes", "--json"]);
		deepEqual(JSON.parse(fixed.stdout).counts, { import: 1, already: 1, refused: 0 });
	});

	test("ringback import reports a missing file", async (t) => {
		const ended = await (await openMigratedHome(t)).runHere(["import", "people", "nowhere.csv"]);
		deepEqual([ended.code, ended.stderr], [1, "There is no file nowhere.csv. Check the name.\n"]);
		equal(hasStack(ended), false);
	});
});
