// Prepares the statements of a month as a job, which shows a preview before anything is issued.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { Actor } from "../people/actor.ts";
import type { StatementsDeps } from "../statements/deps.ts";
import { checkMonth, readDue } from "../statements/due.ts";
import { isMonthInWork, type Job } from "../store/queries/jobs.ts";
import type { JobRow } from "./kind.ts";
import { makeJob } from "./make-job.ts";
import { cellsOf, STATEMENTS } from "./statements.ts";

/** Number of lines that are stored at once. It is a multiple of `batchRows`, so that only the last batch is smaller. */
const LINES_AT_ONCE = 50 * STATEMENTS.batchRows;

/** Creates a job with a line for each statement that the month is due. The month must be over. */
export async function prepareStatements(
	deps: StatementsDeps,
	actor: Actor,
	monthText: string,
): Promise<Result<Job>> {
	const month = await checkMonth(deps.store.db, monthText, deps.clock.nowMs());
	if (!month.ok) return month;
	const listQuery = queryOfMonth(month.value.month);
	const check = async (trx: typeof deps.store.db): Promise<Result<unknown>> =>
		(await isMonthInWork(trx, listQuery)) ? refuseSecond(month.value.month) : succeed(null);
	const job = { kind: STATEMENTS, actor, deciding: null, file: null, listQuery, check };
	return makeJob(deps, job, async (take) => {
		let line = 0;
		const rows: JobRow[] = [];
		for await (const found of readDue(deps.store.reader, month.value)) {
			for (const { partner, due } of found) {
				line += 1;
				rows.push({ line, cells: cellsOf(month.value.month, partner, due) });
			}
			if (rows.length >= LINES_AT_ONCE) {
				const accepted = await take(rows.splice(0, LINES_AT_ONCE));
				if (!accepted.ok) return accepted;
			}
			await deps.clock.yieldLoop();
		}
		return line === 0 ? refuseNothing(month.value.month) : take(rows);
	});
}

/** Returns the month of a job of statements as its query, which is also the query of the page that lists the month. */
function queryOfMonth(month: string): string {
	return `?month=${month}`;
}

function refuseSecond(month: string): ReturnType<typeof refuse> {
	const detail = `Statements for ${month} are being prepared or issued right now. Wait until that job has finished.`;
	return refuse("statements_being_prepared", detail, "month");
}

function refuseNothing(month: string): ReturnType<typeof refuse> {
	const detail = `No statement is due for ${month}: every entry up to its end is in a statement already.`;
	return refuse("nothing_to_issue", detail, "month");
}
