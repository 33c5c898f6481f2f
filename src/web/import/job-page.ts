// An uploaded file: being checked, the preview, being imported, the result; or stopped on the way. Any of the staff may go
// on with what another has uploaded.

import type { Fault } from "../../domain/fault.ts";
import { readFailure } from "../../jobs/batch-failure.ts";
import { discardImport, startImport, stopImport } from "../../jobs/import-job.ts";
import type { ImportKind } from "../../jobs/import-kind.ts";
import { importKind } from "../../jobs/import-kinds.ts";
import { importResult } from "../../jobs/job-result.ts";
import { parseSummary } from "../../jobs/summary.ts";
import { findImport, type ListedImport } from "../../store/queries/import-jobs.ts";
import type { ImportState } from "../../store/tables/imports.ts";
import { movingJob, restingJob } from "../components/job-progress.ts";
import { answerCsv } from "../conversions/csv-answer.ts";
import { answerError } from "../error-page.ts";
import { readTextFields } from "../form.ts";
import {
	answerPage,
	csrfField,
	makerOf,
	type PageDeps,
	setFlash,
	viewerOf,
	type WebContext,
} from "../page.ts";
import { importJobPath, importKindPath } from "../paths.ts";
import type { Answer } from "../routes.ts";
import { type Content, countOf, type Html, html, linkButton, pageHeader, timeTag } from "../ui.ts";
import { whoOf } from "./import-page.ts";
import { renderChoice, renderProgress, renderResult } from "./job-parts.ts";
import { isRestDiscarded, type JobView } from "./job-view.ts";

const TITLES: Readonly<Record<ImportState, string>> = {
	storing: "Checking the file",
	uploaded: "Checking the file",
	previewed: "Check before you import",
	applying: "Importing",
	stopped: "Import stopped",
	done: "Import finished",
	discarded: "Import discarded",
};

export async function showImportJob(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const title = isRestDiscarded(job) ? "Import stopped, rest discarded" : TITLES[job.state];
	const view: JobView = {
		job,
		kind: importKind(job.kind),
		summary: job.summary === null ? null : parseSummary(job.summary),
		failure: job.failure === null ? null : readFailure(job.failure),
		href: importJobPath(job.public_id),
		isMailOn: deps.mails.isOn,
		csrf: csrfField(c),
	};
	return answerPage(c, { title, active: "programmes", body: renderJob(title, view) });
}

export async function applyImportJob(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const { invite } = await readTextFields(c, ["invite"]);
	const invites = job.kind === "people" && invite === "on";
	const started = await startImport(deps, job, makerOf(c), invites);
	if (!started.ok) return answerRefusal(c, deps, job, started.fault);
	deps.imports.wake();
	return c.redirect(importJobPath(job.public_id), 303);
}

export async function stopImportJob(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const stopped = await stopImport(deps, job, viewerOf(c).personId);
	if (!stopped.ok) return answerRefusal(c, deps, job, stopped.fault);
	return c.redirect(importJobPath(job.public_id), 303);
}

export async function discardImportJob(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const discarded = await discardImport(deps, job, viewerOf(c).personId);
	if (!discarded.ok) return answerRefusal(c, deps, job, discarded.fault);
	deps.imports.wake();
	if (discarded.value === "rest discarded") {
		setFlash(c, "info", "The rest of the file is discarded. What was imported stays.");
		return c.redirect(importJobPath(job.public_id), 303);
	}
	setFlash(c, "info", "Discarded. Nothing was imported.");
	return c.redirect(importKindPath(job.kind), 303);
}

/** On the job's own page, unless somebody has discarded it meanwhile. */
async function answerRefusal(
	c: WebContext,
	deps: PageDeps,
	{ kind, public_id: publicId }: ListedImport,
	{ detail }: Fault,
): Promise<Response> {
	setFlash(c, "bad", detail);
	const isThere = (await jobOf(c, deps)) !== undefined;
	return c.redirect(isThere ? importJobPath(publicId) : importKindPath(kind), 303);
}

/** Once every line was looked at, and while the lines are there. */
export function showResultFile(isOfProblems: boolean): Answer {
	return async (c, deps) => {
		const job = await jobOf(c, deps);
		const isLookedAt = job !== undefined && job.state !== "uploaded" && job.state !== "applying";
		if (!isLookedAt || job.lines !== "kept") return answerError(c, "not_found");
		const name = `${isOfProblems ? "needs-fixing" : "result"}-${job.public_id}.csv`;
		return answerCsv(c, deps, name, importResult(deps.store.db, job, isOfProblems));
	};
}

function jobOf(c: WebContext, { store }: PageDeps): Promise<ListedImport | undefined> {
	return findImport(store.db, c.req.param("importId") ?? "");
}

function renderJob(title: string, view: JobView): Html {
	const { job, kind } = view;
	const header = pageHeader({
		title,
		hint: hintOf(job, kind),
		actions: linkButton({ label: "All imports", href: importKindPath(kind.name) }),
	});
	switch (job.state) {
		case "uploaded":
		case "applying":
			return movingJob(view.href, html`${header}${renderProgress(view)}`);
		case "previewed":
			return restingJob(html`${header}${renderChoice(view)}`);
		default:
			return restingJob(html`${header}${renderResult(view)}`);
	}
}

function hintOf(job: ListedImport, kind: ImportKind): Content {
	const file = `${job.file_name || "A file"} · ${countOf(job.row_count, "line")} about ${kind.noun[1]}`;
	const uploaded = html`uploaded by ${whoOf(job.email)}, ${timeTag(job.created_at_ms)}`;
	if (job.applied_at_ms === null) return html`<span class="break">${file}</span> · ${uploaded}`;
	return html`<span class="break">${file}</span> · ${uploaded} · imported by ${whoOf(job.appliedByEmail)}, ${timeTag(job.applied_at_ms)}`;
}
