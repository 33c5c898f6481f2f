// Lines of one file about the same conversion, whether they name it by its id or by its order: those that contradict
// each other decide nothing, and those that say the same decide once.

import { BATCH_ROWS, type ConversionsDeps } from "../conversions/deps.ts";
import type { BulkJob } from "../store/queries/bulk-jobs.ts";
import {
	type DecidingRow,
	type JudgedRow,
	judgeRows,
	listDecidingRows,
	listRepeatedConversions,
} from "../store/queries/bulk-rows.ts";
import type { Db } from "../store/store.ts";
import { compareLines, type OtherLine } from "./same-order-lines.ts";

/** After every row was judged by itself, and before anybody sees the preview: in the transaction that shows it. */
export async function compareRows(
	trx: Db,
	{ clock }: Pick<ConversionsDeps, "clock">,
	job: BulkJob,
): Promise<void> {
	for (let after = ""; ; ) {
		const conversions = await listRepeatedConversions(trx, job.id, after, BATCH_ROWS);
		const last = conversions.at(-1);
		if (last === undefined) return;
		const rows = await listDecidingRows(trx, job.id, conversions);
		const judged = [...Map.groupBy(rows, (row) => row.conversion).values()].flatMap(judgeTogether);
		for (let start = 0; start < judged.length; start += BATCH_ROWS) {
			await judgeRows(trx, job.id, "verdict", judged.slice(start, start + BATCH_ROWS));
			await clock.yieldLoop();
		}
		after = last;
		await clock.yieldLoop();
	}
}

function judgeTogether(rows: readonly DecidingRow[]): JudgedRow[] {
	const others = compareLines(rows);
	return rows.flatMap((row, index) => judgeBeside(row, others[index] ?? null));
}

/** Empty when what was found about the row alone stands. */
function judgeBeside(row: DecidingRow, other: OtherLine): JudgedRow[] {
	const judge = (verdict: JudgedRow["verdict"], detail: string): JudgedRow[] => [
		{ seq: row.seq, verdict, detail, conversion: null },
	];
	if (other === null) return [];
	if (other.kind === "repeats") {
		if (row.verdict !== "change") return [];
		return judge("already", `Line ${other.line} says the same. The order is decided once.`);
	}
	// A row that makes no sense has its own reason, and decides nothing anyway.
	if (row.verdict === "malformed") return [];
	const [first, second] = [row.line, other.line].toSorted((one, next) => one - next);
	return judge(
		"refused",
		`Line ${first} and line ${second} decide the same order differently. Keep one of them, and upload the file again.`,
	);
}
