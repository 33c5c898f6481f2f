// The result of an import as a file, written as it comes.

import { open } from "node:fs/promises";
import { csvFile } from "../conversions/csv-file.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { ImportKind, JudgedRow } from "../jobs/import-kind.ts";
import { type ResultRow, resultColumns } from "../jobs/result-file.ts";

export interface ResultFile {
	write(rows: readonly JudgedRow[]): Promise<void>;
	close(): Promise<void>;
}

/** Never over a file that is there: it could be the one that is imported. For its owner alone, as it names people. */
export async function openResultFile(
	path: string,
	kind: ImportKind,
	isApplied: boolean,
): Promise<Result<ResultFile>> {
	const columns = resultColumns(kind);
	try {
		const file = await open(path, "wx", 0o600);
		let hasHeader = false;
		return succeed({
			async write(rows) {
				const [header = "", lines = ""] = await Array.fromAsync(csvFile(columns, oneBatch(rows, isApplied)));
				await file.writeFile(hasHeader ? lines : header + lines);
				hasHeader = true;
			},
			close: () => file.close(),
		});
	} catch (error) {
		if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
		return refuse("invalid_field", `There is a file ${path} already. Choose another name for the result.`);
	}
}

async function* oneBatch(
	rows: readonly JudgedRow[],
	isApplied: boolean,
): AsyncGenerator<readonly ResultRow[]> {
	yield rows.map((row) => ({ ...row, isApplied }));
}
