// Uploads random text as CSV files. Each file must be refused as a whole or judged line by line, without an
// exception.

import { ok } from "node:assert/strict";
import { test } from "node:test";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { mainlyOn } from "../../../../test/support/databases.ts";
import { addProgramme } from "../../../../test/support/rows.ts";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { startJob } from "./job.ts";
import { fileOf, never, openJobs, reload, summaryOf } from "./jobs.test-support.ts";
import { JOB_KINDS } from "./kinds.ts";
import { uploadFile } from "./make-job.ts";
import { workOffJobs } from "./work.ts";

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
	"reject",
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

mainlyOn("SQLite", "garbage", (database) => {
	// Files are judged without the database. The rounds on PostgreSQL only check that the accepted rows can be
	// stored there.
	const rounds = database.kind === "SQLite" ? 80 : 10;

	for (const kind of Object.values(JOB_KINDS)) {
		const { name } = kind;
		test(`random files of ${name} are refused or judged line by line, and nothing throws`, async () => {
			const deps = openJobs(database.store);
			const { id, public_id } = await addProgramme(database.store);
			const deciding = name === "decisions" ? ({ programmeId: id, side: "shop" } as const) : null;
			const { pick } = createSeededRandom(name.length);
			let judged = 0;
			for (let round = 0; round < rounds; round++) {
				const header = kind.columns.map((column) => column.name).join(pick([",", ";"]));
				// A stray quotation mark usually makes the whole file invalid, so every other round has none.
				const pieces = [
					...PIECES.filter((piece) => round % 2 === 0 || !piece.includes('"')),
					public_id,
					",",
					"\n",
				];
				const cells = Array.from({ length: 60 }, () => pick(pieces)).join("");
				const text = round % 3 === 0 ? cells : `${header}\n${cells}`;
				const uploaded = await uploadFile(deps, kind, { actor: COMMAND_LINE, deciding }, fileOf(text));
				if (!uploaded.ok) continue;
				await workOffJobs(deps, never);
				ok((await startJob(deps, await reload(deps, uploaded.value), COMMAND_LINE, false)).ok);
				await workOffJobs(deps, never);
				const summary = await summaryOf(deps, uploaded.value);
				judged += summary.rows;
				ok(summary.problems.every(({ detail }) => detail !== ""));
			}
			// Lines without a decision are skipped, so in files of decisions fewer lines are judged.
			ok(judged > (name === "decisions" ? rounds / 8 : rounds), `only ${judged} lines were judged`);
		});
	}
});
