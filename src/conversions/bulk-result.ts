// What a job did, row by row, as a file: every line of the upload with its result and the reason.

import { csvLine } from "../domain/csv-cell.ts";
import type { BulkJob } from "../store/bulk-jobs.ts";
import { listRows } from "../store/bulk-rows.ts";
import type { Db } from "../store/store.ts";
import type { BulkVerdict } from "../store/tables/bulk.ts";

const BATCH_ROWS = 1_000;
const BYTE_ORDER_MARK = "\u{FEFF}";

/** Words for programs: they are added, never renamed. */
const RESULTS: Readonly<Record<BulkVerdict, string>> = {
	change: "changed",
	already: "already",
	refused: "refused",
	unknown: "unknown_order",
	malformed: "malformed",
	left: "left_alone",
};

export async function* bulkResult(db: Db, job: BulkJob): AsyncGenerator<string> {
	yield BYTE_ORDER_MARK +
		csvLine(["line", "orderId", "eventType", "decision", "reason", "result", "detail", "conversionId"]);
	for (let afterSeq = 0; ; ) {
		const rows = await listRows(db, { jobId: job.id, afterSeq, limit: BATCH_ROWS });
		const lines = rows.map((row) =>
			csvLine([
				String(row.line),
				row.order_id,
				row.event_type,
				row.decision,
				row.reason,
				row.outcome === null ? "" : RESULTS[row.outcome],
				row.detail ?? "",
				row.conversion ?? row.named_conversion,
			]),
		);
		if (lines.length > 0) yield lines.join("");
		afterSeq = rows.at(-1)?.seq ?? afterSeq;
		if (rows.length < BATCH_ROWS) return;
	}
}
