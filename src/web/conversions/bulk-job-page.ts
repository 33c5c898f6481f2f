// A job of many decisions: being checked, the preview, being applied, the result. Moves on by itself.

import { discardJob, startApplying, whyNotYours } from "../../jobs/bulk-apply.ts";
import { bulkResult } from "../../jobs/bulk-result.ts";
import { workOffSmall } from "../../jobs/bulk-work.ts";
import { type BulkJob, findJob } from "../../store/queries/bulk-jobs.ts";
import {
	type ChangeSum,
	countVerdicts,
	listRows,
	sumChanges,
	type VerdictCounts,
} from "../../store/queries/bulk-rows.ts";
import type { BulkState } from "../../store/tables/bulk.ts";
import { movingJob, restingJob } from "../components/job-progress.ts";
import { answerError } from "../error-page.ts";
import { answerPage, csrfField, type PageDeps, programmeOf, setFlash, type WebContext } from "../page.ts";
import { bulkJobPath, bulkPath, conversionsPath } from "../paths.ts";
import { count, countOf, type Html, html, linkButton, pageHeader, statStrip, timeTag } from "../ui.ts";
import {
	countSkipped,
	MOVE_WORDS,
	onlyMove,
	renderChoice,
	renderProgress,
	renderResult,
} from "./bulk-preview.ts";
import { bulkRowTable, type RowsView, VERDICTS, verdictWords } from "./bulk-row-table.ts";
import { answerCsv } from "./csv-answer.ts";
import { deciderOf } from "./deciding.ts";
import { listAddress } from "./list-query.ts";

const PAGE_ROWS = 100;

export async function showJob(c: WebContext, deps: PageDeps): Promise<Response> {
	const { store } = deps;
	const programme = programmeOf(c);
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const verdict = VERDICTS.find((known) => known === c.req.query("rows"));
	const afterSeq = parseSeq(c.req.query("after"));
	const isMoving = job.state === "uploaded" || job.state === "applying";
	const counts = isMoving ? null : await countVerdicts(store.db, job.id);
	const sums = isMoving ? [] : await sumChanges(store.db, job.id);
	const rows = isMoving
		? []
		: await listRows(store.db, { jobId: job.id, afterSeq, limit: PAGE_ROWS + 1, verdict });
	const href = hrefOf(c, job);
	return answerPage(c, {
		title: titleOf(job, counts, sums),
		active: "conversions",
		body: renderJob({
			job,
			counts,
			sums,
			rows: { rows, pageRows: PAGE_ROWS, verdict, afterSeq, href, programme, isFile: job.source === "file" },
			notYours: whyNotYours(job, deciderOf(c).side),
			csrf: csrfField(c),
		}),
	});
}

export async function applyDecisions(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const started = await startApplying(deps, job, deciderOf(c));
	if (!started.ok) {
		setFlash(c, "bad", started.fault.detail);
		return c.redirect(hrefOf(c, job), 303);
	}
	if (job.source !== "file") await workOffSmall(deps, job);
	deps.bulk.wake();
	return (await backToList(c, deps, job)) ?? c.redirect(hrefOf(c, job), 303);
}

/** What was decided on the list ends on the list, if all of it was done. Null where there is more to read. */
async function backToList(c: WebContext, deps: PageDeps, { source }: BulkJob): Promise<Response | null> {
	const job = await jobOf(c, deps);
	if (source === "file" || job?.state !== "done") return null;
	const counts = await countVerdicts(deps.store.db, job.id);
	const move = onlyMove(job, await sumChanges(deps.store.db, job.id));
	if (countSkipped(counts) > 0 || move === null) return null;
	setFlash(c, "good", `${countOf(counts.change, "conversion")} ${MOVE_WORDS[move].done}.`);
	return c.redirect(listAddress(conversionsPath(programmeOf(c).public_id), job.list_query), 303);
}

export async function discardDecisions(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const discarded = await discardJob(deps, job, deciderOf(c));
	if (!discarded.ok) {
		setFlash(c, "bad", discarded.fault.detail);
		return c.redirect(hrefOf(c, job), 303);
	}
	const { public_id: programmeId } = programmeOf(c);
	setFlash(c, "info", job.source === "file" ? "Discarded. Nothing was changed." : "Nothing was changed.");
	const list = listAddress(conversionsPath(programmeId), job.list_query);
	return c.redirect(job.source === "file" ? bulkPath(programmeId) : list, 303);
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

interface JobView {
	job: BulkJob;
	/** Null while it is being checked or applied. */
	counts: VerdictCounts | null;
	sums: readonly ChangeSum[];
	rows: Omit<RowsView, "counts" | "isApplied">;
	notYours: string | null;
	csrf: Html;
}

function renderJob({ job, counts, sums, rows, notYours, csrf }: JobView): Html {
	const { href } = rows;
	const header = pageHeader({
		title: titleOf(job, counts, sums),
		hint: html`${originOf(job)} · ${countOf(job.row_count, job.source === "file" ? "row" : "conversion")} · ${timeTag(job.created_at_ms)}`,
		actions: linkButton({
			label: "Back to the list",
			href: listAddress(conversionsPath(rows.programme.public_id), job.list_query),
		}),
	});
	if (counts === null) return movingJob(href, html`${header}${renderProgress(job)}`);
	const isApplied = job.state === "done";
	// Of rows that all do the same there is nothing to tell apart.
	const kinds = VERDICTS.filter((verdict) => counts[verdict] > 0);
	const strip = statStrip(
		(job.source === "file" ? VERDICTS : kinds).map((verdict) => ({
			label: verdictWords(verdict, isApplied),
			value: count(counts[verdict]),
		})),
	);
	return restingJob(
		html`${header}${job.source === "file" || kinds.length > 1 ? strip : null}${
			isApplied ? renderResult(href, counts, sums) : renderChoice({ job, href, counts, sums, notYours, csrf })
		}${bulkRowTable({ ...rows, counts, isApplied })}`,
	);
}

const TITLES: Readonly<Record<BulkState, string>> = {
	storing: "Checking decisions",
	uploaded: "Checking decisions",
	previewed: "Check before you apply",
	applying: "Applying decisions",
	done: "Decisions applied",
};

/** "Approve 2 conversions?" where it is one decision about what was chosen on the list. */
function titleOf(job: BulkJob, counts: VerdictCounts | null, sums: readonly ChangeSum[]): string {
	const move = onlyMove(job, sums);
	if (counts === null || move === null || job.state !== "previewed") return TITLES[job.state];
	return `${MOVE_WORDS[move].verb} ${countOf(counts.change, "conversion")}?`;
}

/** Where it came from, in words. */
export function originOf({ source, file_name: fileName }: Pick<BulkJob, "source" | "file_name">): string {
	switch (source) {
		case "file":
			return fileName ?? "A file";
		case "selection":
			return "Selected on the list";
		case "matching":
			return "All that matched the filters";
		default:
			return source satisfies never;
	}
}
