// What became of the lines of an uploaded file, as a file: read a batch at a time, and only when the reader has taken
// what was there.

import { csvFile } from "../conversions/csv-file.ts";
import { findBatch, type ImportJob } from "../store/queries/import-jobs.ts";
import type { Db } from "../store/store.ts";
import { importKind } from "./import-kinds.ts";
import { type ResultRow, resultColumns } from "./result-file.ts";
import { readLines, readVerdicts } from "./stored-lines.ts";

/** `isOfProblems`: only the lines that need fixing. Corrected, either file can be uploaded as it is. */
export function importResult(db: Db, job: ImportJob, isOfProblems: boolean): AsyncGenerator<string> {
	return csvFile(resultColumns(importKind(job.kind)), readResults(db, job, isOfProblems));
}

async function* readResults(
	db: Db,
	job: ImportJob,
	isOfProblems: boolean,
): AsyncGenerator<readonly ResultRow[]> {
	const isBroughtIn = job.state === "done" || job.state === "stopped";
	let read = 0;
	for (let seq = 1; read < job.row_count; seq++) {
		const batch = await findBatch(db, job.id, seq);
		// Discarded or cleared meanwhile: what was cut off must not look like a whole file.
		if (batch === undefined) throw new Error("the lines of an import were removed while they were read");
		const verdicts = readVerdicts(batch.verdicts ?? "[]");
		const isApplied = isBroughtIn && seq <= job.done_batches;
		const lines = readLines(batch.lines);
		read += lines.length;
		const rows = lines.flatMap(({ line, cells }, index): ResultRow[] => {
			const verdict = verdicts[index];
			return verdict === undefined ? [] : [{ line, cells, verdict, isApplied }];
		});
		yield isOfProblems ? rows.filter(({ verdict }) => verdict.kind === "refused") : rows;
	}
}
