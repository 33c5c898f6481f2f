// Whatever bytes somebody takes for a CSV file: each is refused as a whole or judged line by line, and nothing throws.

import { ok } from "node:assert/strict";
import { test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { addProgramme } from "../../test/support/rows.ts";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { IMPORT_KINDS } from "./import-kind.ts";
import { importKind } from "./import-kinds.ts";
import { fileOf, importDeps } from "./imports.test-support.ts";
import { applyImport, readThrough } from "./run-import.ts";

const ROUNDS = 150;
const PIECES = [
	"\n",
	"\r\n",
	",",
	";",
	"\t",
	'"',
	'""',
	"'",
	"=1+1",
	"\u{FEFF}",
	"sep=;",
	"\0",
	"\u{202E}",
	"💶",
	"ß",
	" ",
	"prg_",
	"approved",
	"REVERSED",
	"2026-02-30",
	"2025-01-01",
	"1e9",
	"-0",
	"9".repeat(40),
	"0,5",
	"1.000,00",
	"x@y.example",
	"owner",
	"EUR",
	"constructor",
	"__proto__",
];

eachDatabase("garbage", (database) => {
	for (const name of IMPORT_KINDS) {
		test(`as a file of ${name} ends in words`, async () => {
			const kind = importKind(name);
			const deps = importDeps(database.store);
			const { public_id } = await addProgramme(database.store);
			const { pick } = createSeededRandom(name.length);
			let judged = 0;
			for (let round = 0; round < ROUNDS; round++) {
				const header = kind.columns.map((column) => column.name).join(pick([",", ";"]));
				// Most of what has a stray quotation mark is refused as a whole.
				const pieces = [
					...PIECES.filter((piece) => round % 2 === 0 || !piece.includes('"')),
					public_id,
					",",
					"\n",
				];
				const cells = Array.from({ length: 60 }, () => pick(pieces)).join("");
				const text = round % 3 === 0 ? cells : `${header}\n${cells}`;
				const checked = await readThrough(deps, kind, fileOf(text), "garbage.csv");
				if (!checked.ok) continue;
				const summary = await applyImport(deps, kind, checked.value, async () => undefined);
				judged += summary.rows;
				ok(summary.problems.every(({ detail }) => detail !== ""));
			}
			ok(judged > ROUNDS, `only ${judged} lines were judged`);
		});
	}
});
