// A job of many decisions: being checked, the preview, being applied, the result. Moves on by itself: htmx asks again
// every second, and without scripts the browser reloads.

import { html } from "hono/html";
import { discardJob, startApplying, whyNotYours } from "../../conversions/bulk-apply.ts";
import { bulkResult } from "../../conversions/bulk-result.ts";
import { type BulkJob, findJob } from "../../store/bulk-jobs.ts";
import { countVerdicts, listRows, type VerdictCounts } from "../../store/bulk-rows.ts";
import type { BulkState } from "../../store/tables/bulk.ts";
import { message, padded, pageHeader, section, statStrip } from "../components/blocks.ts";
import { button, linkButton, postForm } from "../components/forms.ts";
import { count, countOf, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import { setFlash } from "../flash.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { bulkJobPath, bulkPath, conversionsPath } from "../paths.ts";
import { programmeOf } from "../viewer.ts";
import { bulkRowTable, type RowsView, VERDICTS, verdictWords } from "./bulk-row-table.ts";
import { answerCsv } from "./csv-answer.ts";
import { deciderOf } from "./deciding.ts";

const PAGE_ROWS = 100;

const TITLES: Readonly<Record<BulkState, string>> = {
	storing: "Checking decisions",
	uploaded: "Checking decisions",
	previewed: "Check before you apply",
	applying: "Applying decisions",
	done: "Decisions applied",
};

export async function showJob(c: WebContext, deps: PageDeps): Promise<Response> {
	const { store } = deps;
	const programme = programmeOf(c);
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const verdict = VERDICTS.find((known) => known === c.req.query("rows"));
	const afterSeq = parseSeq(c.req.query("after"));
	const isMoving = job.state === "uploaded" || job.state === "applying";
	const counts = isMoving ? null : await countVerdicts(store.db, job.id);
	const rows = isMoving
		? []
		: await listRows(store.db, { jobId: job.id, afterSeq, limit: PAGE_ROWS + 1, verdict });
	const href = hrefOf(c, job);
	return answerPage(c, {
		title: TITLES[job.state],
		active: "conversions",
		body: renderJob(
			job,
			counts,
			{ rows, pageRows: PAGE_ROWS, verdict, afterSeq, href, programme },
			whyNotYours(job, deciderOf(c).side),
			csrfField(c),
		),
	});
}

export async function applyDecisions(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const started = await startApplying(deps, job, deciderOf(c));
	if (started.ok) deps.bulk.wake();
	else setFlash(c, "bad", started.fault.detail);
	return c.redirect(hrefOf(c, job), 303);
}

export async function discardDecisions(c: WebContext, deps: PageDeps): Promise<Response> {
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

export async function showResult(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined || job.state !== "done") return answerError(c, "not_found");
	const lines = bulkResult(deps.store.db, job);
	return answerCsv(c, deps, `result-${job.public_id}.csv`, lines);
}

function jobOf(c: WebContext, { store }: PageDeps): Promise<BulkJob | undefined> {
	return findJob(store.db, programmeOf(c).id, c.req.param("jobId") ?? "");
}

function hrefOf(c: WebContext, job: BulkJob): string {
	return bulkJobPath(programmeOf(c).public_id, job.public_id);
}

function parseSeq(text: string | undefined): number {
	return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : 0;
}

function renderJob(
	job: BulkJob,
	counts: VerdictCounts | null,
	view: Omit<RowsView, "counts" | "isApplied">,
	notYours: string | null,
	csrf: Html,
): Html {
	const { href } = view;
	const header = pageHeader({
		title: TITLES[job.state],
		hint: html`${job.file_name ?? "A selection on the list"} · ${countOf(job.row_count, "row")} · ${timeTag(job.created_at_ms)}`,
		actions: linkButton({ label: "All conversions", href: conversionsPath(view.programme.public_id) }),
	});
	if (counts === null) return html`<div id="job" ${polling(href)}>${header}${renderProgress(job)}</div>`;
	return html`<div id="job" class="stack">${header}${statStrip(
		VERDICTS.map((verdict) => ({
			label: verdictWords(verdict, job.state === "done"),
			value: count(counts[verdict]),
		})),
	)}${job.state === "done" ? renderResult(href, counts) : renderChoice(href, counts, notYours, csrf)}${bulkRowTable(
		{
			...view,
			counts,
			isApplied: job.state === "done",
		},
	)}</div>`;
}

function polling(href: string): Html {
	return html`class="stack" hx-get="${href}" hx-trigger="every 1s" hx-select="#job" hx-target="this" hx-swap="outerHTML"`;
}

function renderProgress(job: BulkJob): Html {
	const what = job.state === "uploaded" ? "checked" : "applied";
	const text = `${count(job.done_rows)} of ${countOf(job.row_count, "row")} ${what}`;
	return section({
		id: "progress",
		title: job.state === "uploaded" ? "Checking every row" : "Applying every row",
		hint: "You may leave this page: the work goes on, and the result stays here.",
		body: padded(
			html`<progress class="bar-share" max="${job.row_count}" value="${job.done_rows}" aria-label="${text}">${text}</progress>`,
			html`<p class="soft" role="status">${text}</p>`,
			html`<noscript><meta http-equiv="refresh" content="2"></noscript>`,
		),
	});
}

function renderChoice(href: string, counts: VerdictCounts, notYours: string | null, csrf: Html): Content {
	if (notYours !== null) return message("info", notYours);
	const skipped = countSkipped(counts);
	const discard = postForm({
		action: `${href}/discard`,
		csrf,
		className: "row",
		body: button({ label: "Discard", tone: "quiet" }),
	});
	if (counts.change === 0) {
		return html`${message("warn", adviceWithoutChange(counts))}<div class="row">${discard}</div>`;
	}
	const apply = postForm({
		action: `${href}/apply`,
		csrf,
		className: "row",
		body: button({ label: `Apply ${countOf(counts.change, "change")}`, tone: "primary" }),
	});
	const left =
		skipped === 0
			? null
			: message("warn", `${countOf(skipped, "row")} will be left out. The list below says why.`);
	return html`${left}<div class="row">${apply}${discard}</div>`;
}

function adviceWithoutChange(counts: VerdictCounts): string {
	const isUndecided = VERDICTS.every((verdict) => verdict === "left" || counts[verdict] === 0);
	return isUndecided
		? "No row has a decision. Write approve, reject or reverse into the column decision, and upload the file again."
		: "None of these rows would change anything. Look at the reasons below, correct the file and upload it again.";
}

function renderResult(href: string, counts: VerdictCounts): Html {
	const skipped = countSkipped(counts);
	const text =
		skipped === 0
			? "Every decision was applied."
			: `${count(counts.change)} changed; ${count(skipped)} left out, each with its reason in the result file.`;
	return html`${message(skipped === 0 ? "good" : "warn", text)}<div class="row">${linkButton({
		label: "Download the result",
		tone: "primary",
		href: `${href}/result.csv`,
	})}</div>`;
}

function countSkipped({ refused, unknown, malformed }: VerdictCounts): number {
	return refused + unknown + malformed;
}
