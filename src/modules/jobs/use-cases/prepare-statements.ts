// Prepares the statements of a month as a job, which shows a preview before anything is issued. The accounts of all
// partners are added up in the background (work.ts), because that takes many seconds in a large network.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import type { Actor } from "#core/people/actor.ts";
import { countPartners } from "#core/store/queries/partners.ts";
import type { StatementsDeps } from "#modules/accounts/use-cases/deps.ts";
import { checkMonth } from "#modules/accounts/use-cases/due.ts";
import { isMonthInWork, type Job } from "../store/jobs.ts";
import { noteJob } from "./job.ts";
import { openJob } from "./make-job.ts";
import { queryOfMonth, STATEMENTS } from "./statements.ts";

/**
 * Creates a job that finds the statements that are due for the month. The month must be over. If two people
 * ask for the same month at the same moment, the second is refused.
 */
export async function prepareStatements(
	deps: StatementsDeps,
	actor: Actor,
	monthText: string,
): Promise<Result<Job>> {
	const { db } = deps.store;
	const checked = await checkMonth(db, monthText, deps.clock.nowMs());
	if (!checked.ok) return checked;
	const { month } = checked.value;
	const listQuery = queryOfMonth(month);
	const check = async (trx: typeof db): Promise<Result<unknown>> => {
		if (!(await isMonthInWork(trx, listQuery))) return succeed(null);
		const detail = `Statements for ${month} are being prepared or issued right now. Wait until that job has finished.`;
		return refuse("statements_being_prepared", detail, "month");
	};
	const job = { kind: STATEMENTS, actor, deciding: null, file: null, listQuery, check };
	const partners = await countPartners(db);
	const start = { state: "preparing", row_count: partners, claim_until_ms: 0 } as const;
	const detail = partners === 1 ? "1 account to add up" : `${partners} accounts to add up`;
	return openJob(deps, job, start, (trx, opened) =>
		noteJob(trx, opened, "prepared", {
			personId: opened.person_id,
			detail,
			nowMs: opened.created_at_ms,
		}),
	);
}
