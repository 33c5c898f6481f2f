// A job: being checked, the preview, being applied, the result; or stopped on the way. Any of the staff may go on with what
// another has uploaded, and any of a shop's owners.

import type { Fault } from "../../domain/fault.ts";
import { discardJob, startJob, stopJob, whyNotYours } from "../../jobs/job.ts";
import { JOB_KINDS } from "../../jobs/kinds.ts";
import { jobResult, readFailure } from "../../jobs/lines.ts";
import { parseSummary } from "../../jobs/summary.ts";
import { findJob, type ListedJob } from "../../store/queries/jobs.ts";
import { answerCsv } from "../conversions/csv-answer.ts";
import { deciderOf } from "../conversions/deciding.ts";
import { answerError } from "../error-page.ts";
import { readTextFields } from "../form.ts";
import { answerPage, makerOf, type PageDeps, setFlash, viewerOf, type WebContext } from "../page.ts";
import type { Answer } from "../routes.ts";
import {
	backPath,
	isRestDiscarded,
	type JobView,
	jobPath,
	renderJob,
	uploadPath,
	wordsOf,
} from "./job-view.ts";

export async function showJob(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const kind = JOB_KINDS[job.kind];
	const words = wordsOf(kind);
	const title = isRestDiscarded(job) ? `${words.states.stopped}, rest discarded` : words.states[job.state];
	const view: JobView = {
		title,
		job,
		kind,
		words,
		summary: job.summary === null ? null : parseSummary(job.summary),
		failure: readFailure(job.failure),
		href: jobPath(c, job),
		backHref: backPath(c, job),
		notYours: whyNotYours(job, deciderOf(c).side),
		isMailOn: deps.mails.isOn,
	};
	const active = job.programme_id === null ? "programmes" : "conversions";
	return answerPage(c, { title, active, body: renderJob(view) });
}

export const applyJobPage = change(async (c, deps, job) => {
	const { invite } = await readTextFields(c, ["invite"]);
	return startJob(deps, job, makerOf(c), job.kind === "people" && invite === "on");
});

export const stopJobPage = change((c, deps, job) => stopJob(deps, job, viewerOf(c).personId));

export const discardJobPage = change((c, deps, job) => discardJob(deps, job, viewerOf(c).personId));

type Done = "started" | "already" | "stopped" | "discarded" | "rest discarded";

/** Each is one button of the page. */
function change(
	work: (
		c: WebContext,
		deps: PageDeps,
		job: ListedJob,
	) => Promise<{ ok: true; value: Done } | { ok: false; fault: Fault }>,
): Answer {
	return async (c, deps) => {
		const job = await jobOf(c, deps);
		if (job === undefined) return answerError(c, "not_found");
		const notYours = whyNotYours(job, deciderOf(c).side);
		const done = notYours === null ? await work(c, deps, job) : null;
		if (done === null || !done.ok) {
			setFlash(c, "bad", done === null ? (notYours ?? "") : done.fault.detail);
			// On the job's own page, unless somebody has discarded it meanwhile.
			const isThere = (await jobOf(c, deps)) !== undefined;
			return c.redirect(isThere ? jobPath(c, job) : uploadPath(c, JOB_KINDS[job.kind]), 303);
		}
		deps.jobs.wake();
		if (done.value === "rest discarded") {
			setFlash(c, "info", "The rest of the file is discarded. What was done stays.");
		}
		if (done.value !== "discarded") return c.redirect(jobPath(c, job), 303);
		setFlash(c, "info", "Discarded. Nothing was changed.");
		return c.redirect(job.file_name === null ? backPath(c, job) : uploadPath(c, JOB_KINDS[job.kind]), 303);
	};
}

/** Once every line was looked at, and while the lines are there. */
export function showResultFile(isOfProblems: boolean): Answer {
	return async (c, deps) => {
		const job = await jobOf(c, deps);
		const isLookedAt = job !== undefined && job.state !== "uploaded" && job.state !== "applying";
		if (!isLookedAt || job.lines !== "kept") return answerError(c, "not_found");
		const name = `${isOfProblems ? "needs-fixing" : "result"}-${job.public_id}.csv`;
		return answerCsv(c, deps, name, jobResult(deps.store.db, job, isOfProblems));
	};
}

function jobOf(c: WebContext, { store }: PageDeps): Promise<ListedJob | undefined> {
	const id = c.req.param("jobId") ?? c.req.param("importId") ?? "";
	return findJob(store.db, c.get("programme")?.id ?? null, id);
}
