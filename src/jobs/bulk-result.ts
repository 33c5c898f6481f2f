// What a job did, row by row, as a file: every line of the upload with its result and the reason.

import { CSV_BATCH_ROWS, type CsvColumns, csvFile } from "../conversions/csv-file.ts";
import type { BulkJob } from "../store/queries/bulk-jobs.ts";
import { type BulkRow, listRows } from "../store/queries/bulk-rows.ts";
import type { Db } from "../store/store.ts";
import type { BulkVerdict } from "../store/tables/bulk.ts";

/** Words for programs: they are added, never renamed. */
const RESULTS: Readonly<Record<BulkVerdict, string>> = {
	change: "changed",
	already: "already",
	refused: "refused",
	unknown: "unknown_order",
	malformed: "malformed",
	left: "left_alone",
};

const COLUMNS: CsvColumns<BulkRow> = [
	["line", (row) => String(row.line)],
	["orderId", (row) => row.order_id],
	["eventType", (row) => row.event_type],
	["decision", (row) => row.decision],
	["reason", (row) => row.reason],
	["result", (row) => (row.outcome === null ? "" : RESULTS[row.outcome])],
	["detail", (row) => row.detail ?? ""],
	["conversionId", (row) => row.conversion ?? row.named_conversion],
];

export function bulkResult(db: Db, job: BulkJob): AsyncGenerator<string> {
	return csvFile(COLUMNS, readAllRows(db, job.id));
}

async function* readAllRows(db: Db, jobId: number): AsyncGenerator<readonly BulkRow[]> {
	for (let afterSeq = 0; ; ) {
		const rows = await listRows(db, { jobId, afterSeq, limit: CSV_BATCH_ROWS });
		yield rows;
		afterSeq = rows.at(-1)?.seq ?? afterSeq;
		if (rows.length < CSV_BATCH_ROWS) return;
	}
}
