// The buttons of a job's page: apply, discard, and the result as a file.

import { discardJob, startApplying } from "../../conversions/bulk-apply.ts";
import { bulkResult } from "../../conversions/bulk-result.ts";
import { type BulkJob, findJob } from "../../store/bulk-jobs.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import { setFlash } from "../flash.ts";
import { bulkJobPath, bulkPath } from "../paths.ts";
import { programmeOf } from "../viewer.ts";
import { answerCsv } from "./csv-answer.ts";
import { deciderOf } from "./decider-of.ts";
import type { ConversionPagesDeps } from "./deps.ts";

export async function applyDecisions(c: WebContext, deps: ConversionPagesDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const started = await startApplying(deps, job, deciderOf(c));
	if (started.ok) deps.bulk.wake();
	else setFlash(c, "bad", started.fault.detail);
	return c.redirect(hrefOf(c, job), 303);
}

export async function discardDecisions(c: WebContext, deps: ConversionPagesDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const discarded = await discardJob(deps, job, deciderOf(c));
	if (!discarded.ok) {
		setFlash(c, "bad", discarded.fault.detail);
		return c.redirect(hrefOf(c, job), 303);
	}
	setFlash(c, "info", "Discarded. Nothing was changed.");
	return c.redirect(bulkPath(programmeOf(c).public_id), 303);
}

export async function showResult(c: WebContext, deps: ConversionPagesDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined || job.state !== "done") return answerError(c, "not_found");
	const lines = bulkResult(deps.store.db, job);
	return answerCsv(c, deps, `result-${job.public_id}.csv`, lines);
}

function jobOf(c: WebContext, { store }: ConversionPagesDeps): Promise<BulkJob | undefined> {
	return findJob(store.db, programmeOf(c).id, c.req.param("jobId") ?? "");
}

function hrefOf(c: WebContext, job: BulkJob): string {
	return bulkJobPath(programmeOf(c).public_id, job.public_id);
}
