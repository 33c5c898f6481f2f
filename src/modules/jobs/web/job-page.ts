// The page of a job, with the progress, then the preview, and then the result or the reason why the job
// stopped. Any member of staff can continue an import of another one, and any owner of a shop can continue
// decisions of another owner.

import type { Fault } from "#core/domain/fault.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import { showOrderId } from "#core/domain/visible-text.ts";
import { sayMonth } from "#core/domain/zone-day.ts";
import { LIMITS } from "#core/people/limits.ts";
import { STATUS_WORDS } from "#core/web/conversion-ui.ts";
import { answerCsv } from "#core/web/conversions/csv-answer.ts";
import { deciderOf } from "#core/web/conversions/decide-action.ts";
import { answerError } from "#core/web/error-page.ts";
import { readTextFields } from "#core/web/form.ts";
import { actorOf, answerPage, leadTo, type PageDeps, type WebContext } from "#core/web/page.ts";
import { importKindPath, STATEMENTS_PATH } from "#core/web/paths.ts";
import type { Answer } from "#core/web/routes.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, count, countOf, type Html, html, message } from "#core/web/ui.ts";
import { issuedBeforeMessage } from "#modules/accounts/web/restored.ts";
import { detailsLinks } from "#modules/accounts/web/statement-ui.ts";
import { findJob, type Job, type ListedJob } from "../store/jobs.ts";
import type { JobState } from "../store/tables.ts";
import { RETRY_MS } from "../use-cases/claim.ts";
import { confirmationOf, discardJob, startJob, stopJob, whyNotYours } from "../use-cases/job.ts";
import type { JobKind } from "../use-cases/kind.ts";
import { IMPORT_KINDS, JOB_KINDS } from "../use-cases/kinds.ts";
import { type BatchFailure, jobResult, readFailure } from "../use-cases/lines.ts";
import {
	type JobSummary,
	type MoneyTotal,
	parseSummary,
	type TotalsOfOutcome,
} from "../use-cases/summary.ts";
import { hasWork } from "../use-cases/work.ts";
import { jobPath, kindLabel, listOf, pagesOf } from "./kind-pages.ts";
import { statementLines } from "./statement-lines.ts";

/**
 * Colour and text of each state. The text is the title of the job's page, and the state in the list of jobs.
 */
const STATES: Readonly<Record<JobState, readonly [ui.Tone, string]>> = {
	storing: ["plain", "Checking the file"],
	preparing: ["info", "Preparing statements"],
	uploaded: ["info", "Checking the file"],
	previewed: ["warn", "Preview, not confirmed yet"],
	applying: ["info", "Under way"],
	stopped: ["warn", "Stopped"],
	done: ["good", "Done"],
	discarded: ["plain", "Discarded"],
};

export function stateOf(job: Job, nowMs: number): readonly [ui.Tone, string] {
	if (areRemainingLinesRemoved(job)) return ["plain", "Stopped, rest discarded"];
	if (!hasWork(job)) return STATES[job.state];
	if (job.failure !== null) return ["warn", "Trying again"];
	return isLeft(job, nowMs) ? ["warn", "Waiting for a process"] : STATES[job.state];
}

/**
 * Returns whether a process has worked on the job and no process does so now. If it died less than three seconds ago,
 * nobody can know that yet.
 */
function isLeft({ claim_until_ms: claimUntilMs }: Job, nowMs: number): boolean {
	return claimUntilMs > 0 && claimUntilMs <= nowMs;
}

/**
 * Returns true if the remaining lines of a stopped job were removed, either by a person or after three days.
 */
function areRemainingLinesRemoved({ state, lines }: Job): boolean {
	return state === "stopped" && lines !== "kept";
}

/**
 * Returns the origin of a job in words: the name of the uploaded file, the month of statements, or the
 * filters of a list.
 */
export function originOf({
	file_name: fileName,
	kind,
	list_query: query,
}: Pick<Job, "file_name"> & Partial<Pick<Job, "kind" | "list_query">>): string {
	if (kind === "statements") return sayMonth(new URLSearchParams(query ?? "").get("month") ?? "");
	return fileName === null ? "All that matched the filters" : fileName || "A file";
}

/**
 * Returns the email address of the person. For a job of the network's review team, shops see only the team's
 * name.
 */
export function whoOf({ decided_by: decidedBy }: Job, email: string | null): Content {
	if (decidedBy === "review") return "the review team";
	return email === null ? "–" : ui.emailText(email);
}

interface JobView {
	job: ListedJob;
	kind: JobKind;
	summary: JobSummary;
	href: string;
	/** Sentence that says why this reader may not apply the job, or null if they may. */
	notYours: string | null;
	isMailOn: boolean;
	nowMs: number;
}

/**
 * Shows the page of a job. While the job is running, htmx reloads the page every second. Without scripts, the
 * reader reloads it.
 */
export async function showJob(c: WebContext, deps: PageDeps): Promise<Response> {
	const job = await jobOf(c, deps);
	if (job === undefined) return answerError(c, "not_found");
	const nowMs = deps.clock.nowMs();
	const { menuEntry, back } = pagesOf(job.kind);
	const [, state] = stateOf(job, nowMs);
	const title = isNothingDue(job) ? "Nothing to issue" : state;
	const view: JobView = {
		job,
		kind: JOB_KINDS[job.kind],
		summary: parseSummary(job.summary),
		href: jobPath(c, job),
		notYours: whyNotYours(job, deciderOf(c).side),
		isMailOn: deps.mails.isOn,
		nowMs,
	};
	const header = ui.pageHeader({
		title,
		hint: hintOf(view),
		actions: ui.linkButton(back(c, job.list_query)),
	});
	const body = await renderBody(c, deps, view);
	return answerPage(c, {
		title,
		active: menuEntry,
		body: html`<div id="job" class="stack"${ui.attrs(hasWork(job) ? ui.refreshed("job", view.href, 1) : {})}>${header}${body}</div>`,
	});
}

async function renderBody(c: WebContext, deps: PageDeps, view: JobView): Promise<Content> {
	const { job } = view;
	if (hasWork(job)) return renderProgress(view);
	if (isNothingDue(job)) {
		const text = `No statement is due for ${originOf(job)}. Every entry up to the end of the month is in a statement already.`;
		return message("info", text);
	}
	if (job.kind !== "statements") return [renderOutcome(view), null, filesNote(view)];
	const month = new URLSearchParams(job.list_query ?? "").get("month") ?? "";
	const warning = await issuedBeforeMessage(deps, month, c.get("network").timeZone);
	const asked = Number(c.req.query("page") ?? "1");
	const page = Number.isInteger(asked) && asked > 0 ? asked : 1;
	const lines = await statementLines(deps.store.reader, job, view.href, page);
	return [warning, renderOutcome(view), lines, filesNote(view)];
}

/** Returns whether the preparation of a month has found no statement that is due. */
function isNothingDue({ kind, state, row_count: rows }: Job): boolean {
	return kind === "statements" && state === "done" && rows === 0;
}

function hintOf({ job, kind }: JobView): Content {
	const lines =
		job.kind === "statements"
			? countOf(job.row_count, ...kind.noun)
			: `${countOf(job.row_count, "line")} about ${kind.noun[1]}`;
	const file = job.state === "preparing" ? originOf(job) : `${originOf(job)} · ${lines}`;
	const verb = job.kind === "statements" ? "prepared" : job.file_name === null ? "chosen" : "uploaded";
	const created = html`${verb} by ${whoOf(job, job.email)}, ${ui.timeTag(job.created_at_ms)}`;
	const started =
		job.applied_at_ms === null
			? null
			: html` · started by ${whoOf(job, job.appliedByEmail)}, ${ui.timeTag(job.applied_at_ms)}`;
	return html`<span class="break">${file}</span> · ${created}${started}`;
}

function renderProgress({ job, href, notYours, nowMs }: JobView): Html {
	const { state, done_rows: done, row_count: rows } = job;
	const [action, label] = state === "applying" ? ["stop", "Stop"] : ["discard", "Cancel"];
	const lines = state === "uploaded" ? "Checking every line" : pagesOf(job.kind).atWork;
	// Partners may have been added since the accounts were counted.
	const text =
		state === "preparing"
			? `${count(Math.min(done, rows))} of ${countOf(rows, "account")} added up`
			: `${count(done)} of ${countOf(rows, "line")} ${state === "uploaded" ? "checked" : "done"}`;
	return html`${failureMessage(job)}${ui.section({
		id: "progress",
		title: state === "preparing" ? "Adding up every account" : lines,
		hint: html`You can leave this page. ${outlookOf(job, nowMs)}, and the result appears here.`,
		body: ui.padded(
			html`<progress class="bar-share" max="${Math.max(rows, 1)}" value="${done}" aria-label="${text}">${text}</progress>`,
			html`<p class="soft" role="status">${text}</p>`,
			html`<noscript><meta http-equiv="refresh" content="2"></noscript>`,
			notYours === null ? ui.buttonForm({ action: `${href}/${action}`, label }) : null,
		),
	})}`;
}

/**
 * Returns a sentence that says whether a process works on the job. A failed batch has a message of its own.
 */
function outlookOf(job: Job, nowMs: number): Html {
	if (job.failure === null && job.claim_until_ms === 0) {
		return html`It begins as soon as a process is free, which takes a few seconds`;
	}
	if (job.failure !== null || !isLeft(job, nowMs)) return html`The work continues`;
	return html`No process has worked on it since ${ui.timeTag(job.claim_until_ms)}. It continues as soon as a process is free, which takes a few seconds`;
}

/** Shows the preview, the result, or the point at which the job stopped. */
function renderOutcome(view: JobView): Html {
	const { job, summary } = view;
	const { counts, rows } = summary;
	const { done, already, refused } = pagesOf(job.kind);
	const left = job.row_count - rows;
	const stats = ui.statStrip([
		{
			label: job.state === "previewed" ? `Will be ${done}` : ui.capitalise(done),
			value: count(counts.change),
		},
		{ label: already, value: count(counts.already) },
		{ label: refused, value: count(counts.refused) },
		...(left > 0 ? [{ label: "Not processed yet", value: count(left) }] : []),
	]);
	const outcome =
		job.state === "previewed" ? null : job.state === "done" ? doneMessage(view) : stoppedMessage(job);
	return html`${outcome}${accessMessage(job)}${failureMessage(job)}${stats}${withoutDetailsMessage(view)}${whatNext(view)}${moneySection(summary)}${totalsSection(view)}${problemsSection(view)}`;
}

/** Names the partners whose statements cannot be paid yet, as it was when the lines were judged. */
function withoutDetailsMessage({ job, summary: { withoutDetails } }: JobView): Content {
	if (withoutDetails === undefined) return null;
	const { statements, partners } = withoutDetails;
	const when = job.state === "previewed" ? "when the month was prepared" : "when the statement was issued";
	return message(
		"warn",
		html`${countOf(statements, "statement")} cannot be paid yet, because the partner had no payment details ${when}: ${detailsLinks(partners)}${statements > partners.length ? " and others" : ""}. The payout file leaves ${statements === 1 ? "it" : "them"} out until the details are entered.`,
	);
}

function whatNext(view: JobView): Content {
	const { job, kind, summary, notYours } = view;
	if (job.state === "done") return nextStep(view);
	if (notYours !== null || job.lines !== "kept") return notYours === null ? null : message("info", notYours);
	if (job.state !== "previewed") return applyForm(view, "Continue", "Discard the rest");
	const { change, already, refused } = summary.counts;
	if (change === 0) {
		const found =
			refused === 0
				? "There is nothing to do. Every line is done already."
				: `${already === 0 ? "Every line needs fixing." : "Every line is done already or needs fixing."} Correct the lines below, and upload the file again.`;
		const discard = ui.buttonForm({ action: `${view.href}/discard`, label: "Discard" });
		return [message("warn", found), discard];
	}
	const leftOut = `${countOf(refused, "line")} will be left out, because ${refused === 1 ? "it needs" : "they need"} fixing. Continue with the others now and fix those later, or correct the file and upload it again.`;
	return [
		refused === 0 ? null : message("warn", leftOut),
		summary.remarks === 0 ? null : message("warn", sayRemarks(view)),
		message("info", kind.advice),
		applyForm(view, `${pagesOf(job.kind).verb} ${countOf(change, ...kind.noun)}`, "Discard"),
	];
}

/** Returns the link to what people do after a finished job, or null if nothing follows. */
function nextStep({ job, kind: { name }, summary }: JobView): Content {
	const link = (label: string, href: string) =>
		html`<div class="row">${ui.linkButton({ label, tone: "primary", href })}</div>`;
	if (name === "statements") {
		const isToPay = summary.totals?.some(({ outcome }) => outcome === "pay") === true;
		return isToPay ? link("Next: pay the statements", `${STATEMENTS_PATH}${job.list_query ?? ""}`) : null;
	}
	const imports: readonly JobKind["name"][] = IMPORT_KINDS;
	const next = imports.includes(name) ? imports[imports.indexOf(name) + 1] : undefined;
	if (next === undefined) return null;
	return link(`Next: ${kindLabel(next).toLowerCase()}`, importKindPath(next));
}

/**
 * Returns the form that starts or continues a job. It asks each time whether invitations are mailed, because
 * another person may continue the job.
 */
function applyForm({ job, kind, href, isMailOn }: JobView, label: string, discard: string): Html {
	const confirmation = confirmationOf(job);
	const invites = isMailOn
		? html`${ui.checkbox({ name: "invite", label: "Mail each of them an invitation now" })}<p class="small soft">Otherwise no mail is sent. ${kind.invitesLater} At most ${count(LIMITS.importedInvitations.max)} invitations are mailed within an hour. The people after that are added without a mail, and the result says who they are.</p>`
		: html`<p class="small soft">No mail is sent, because this service has no mail server. ${kind.invitesLater}</p>`;
	return ui.postForm({
		action: `${href}/apply`,
		body: [
			kind.invitesLater === undefined ? null : invites,
			confirmation === null ? null : ui.checkbox({ name: "confirmed", label: confirmation }),
			html`<div class="row">${ui.button({ label, tone: "primary" })}${ui.button({ label: discard, tone: "quiet", formAction: `${href}/discard` })}</div>`,
		],
	});
}

/** Returns the sentence about changed lines that have a remark. */
function sayRemarks({ kind, job, summary: { remarks } }: JobView): string {
	return kind.sayRemarks?.(countOf(remarks, ...kind.noun), job.state === "done") ?? "";
}

function doneMessage(view: JobView): Html {
	const { kind, job } = view;
	const { counts, remarks } = view.summary;
	// Only some kinds of jobs have a sentence about remarks. For example, an issued statement has its number as
	// a remark, which needs no sentence.
	const hasRemarks = kind.sayRemarks !== undefined && remarks > 0;
	const sentences = [
		`${countOf(counts.change, ...kind.noun)} ${pagesOf(job.kind).done}.`,
		job.invites === 1 && counts.change > remarks ? "Their invitations are on their way." : "",
		hasRemarks ? sayRemarks(view) : "",
		counts.refused > 0 ? `${countOf(counts.refused, "line")} left out: see below.` : "",
	];
	const tone = counts.refused === 0 && !hasRemarks ? "good" : "warn";
	return message(tone, sentences.filter((sentence) => sentence !== "").join(" "));
}

function stoppedMessage(job: Job): Html {
	const rest = areRemainingLinesRemoved(job)
		? ` Its other lines were removed. ${pagesOf(job.kind).again} for the rest.`
		: "";
	return message(
		"warn",
		`Stopped after ${count(job.done_rows)} of ${countOf(job.row_count, "line")}. The changes made until then stay.${rest}`,
	);
}

/**
 * Warns if the access of the person who uploaded the file has ended. A thief of the person's password could
 * have uploaded it.
 */
function accessMessage(job: ListedJob): Content {
	if (job.access_ended_at_ms === null) return null;
	return message(
		"warn",
		html`${whoOf(job, job.appliedByEmail ?? job.email)} got a new password or lost their access (${ui.timeTag(job.access_ended_at_ms)}), so nothing more was done in their name. Check what it did or would change before you continue. If you do not recognise the file, discard it.`,
	);
}

const WHY: Readonly<Record<BatchFailure["cause"], readonly [cause: string, advice: string]>> = {
	database: [
		"the database was unreachable, too busy or full",
		"check the database and its free space on the System page",
	],
	unexpected: [
		"an unexpected error",
		"look for “a chore failed” in the service’s log at that time. To apply the other lines, remove these from the file and upload it again",
	],
};

/** Shows the last failed batch, both while it is retried and after the job has stopped. */
function failureMessage(job: Job): Content {
	const failure = readFailure(job.failure);
	if (failure === null) return null;
	const [cause, advice] = WHY[failure.cause];
	const every = `every ${RETRY_MS[failure.cause] / SECOND_MS} seconds`;
	if (job.state === "preparing") {
		const retry = `It is tried again ${every}.`;
		const inLog =
			failure.cause === "database" ? advice : "look for “a chore failed” in the service’s log at that time";
		return message(
			"bad",
			html`The next accounts could not be added up (${ui.timeTag(failure.atMs)}): ${cause}. ${retry} If it continues, ${inLog}.`,
		);
	}
	const again = hasWork(job) ? `, and they are tried again ${every}` : "";
	return message(
		"bad",
		html`Lines ${count(failure.firstLine)} to ${count(failure.lastLine)} could not be ${job.state === "uploaded" ? "checked" : "stored"} (${ui.timeTag(failure.atMs)}): ${cause}. None of them was stored${again}. If it continues, ${advice}.`,
	);
}

function moneySection({ money }: JobSummary): Content {
	if (money.length === 0) return null;
	const column = (title: string, part: "basket" | "commission" | "fee"): ui.Column<MoneyTotal> => ({
		title,
		isNumber: true,
		cell: (row) => ui.amount(row[part], row.currency),
	});
	return ui.section({
		id: "money",
		title: "By status",
		...(money.some(({ tests }) => tests > 0) ? { hint: "Sums leave tests out." } : {}),
		body: ui.dataTable<MoneyTotal>({
			caption: "By status and currency",
			rows: money,
			empty: null,
			stacks: true,
			columns: [
				{
					title: "Status",
					namesRow: true,
					cell: ({ status }) => (status === "REFUNDED" ? "Partly refunded" : STATUS_WORDS[status]),
				},
				{
					title: "Conversions",
					isNumber: true,
					cell: ({ rows, tests }) =>
						html`${count(rows)}${tests === 0 ? null : html`<span class="secondary">${countOf(tests, "test")}</span>`}`,
				},
				column("Amount", "basket"),
				column("Commission", "commission"),
				column("Fee", "fee"),
			],
		}),
	});
}

const OUTCOME_WORDS: Readonly<Record<TotalsOfOutcome["outcome"], string>> = {
	pay: "To pay",
	carry: "Carried forward",
	paid: "Paid",
};

/** Shows the totals of statements by currency, and by what happens with them. */
function totalsSection({ summary: { totals = [] } }: JobView): Content {
	if (totals.length === 0) return null;
	return ui.section({
		id: "totals",
		title: "By currency",
		body: ui.dataTable<TotalsOfOutcome>({
			caption: "Totals by currency",
			rows: totals,
			empty: null,
			stacks: true,
			columns: [
				{ title: "Outcome", namesRow: true, cell: ({ outcome }) => OUTCOME_WORDS[outcome] },
				{ title: "Statements", isNumber: true, cell: ({ statements }) => count(statements) },
				{ title: "Total", isNumber: true, cell: ({ amount, currency }) => ui.amount(amount, currency) },
			],
		}),
	});
}

function problemsSection({ job, href, summary: { problems, counts } }: JobView): Content {
	if (problems.length === 0) return null;
	const file = ui.linkButton({ label: "Download these lines", isSmall: true, href: `${href}/problems.csv` });
	const { refused, refusedTable, advice } = pagesOf(job.kind);
	return ui.section({
		id: "problems",
		title: refused,
		hint:
			counts.refused > problems.length
				? `The first ${count(problems.length)} of ${countOf(counts.refused, "line")}. The file has all of them.`
				: advice,
		actions: job.lines === "kept" ? file : null,
		body: ui.dataTable({
			caption: refusedTable.caption,
			rows: problems,
			empty: null,
			stacks: true,
			columns: [
				{
					title: "Line",
					namesRow: true,
					cell: ({ line }) => html`<span class="nowrap">Line ${count(line)}</span>`,
				},
				{
					title: refusedTable.reasons,
					cell: ({ detail }) => html`<span class="break">${showOrderId(detail)}</span>`,
				},
			],
		}),
	});
}

function filesNote({ job, href }: JobView): Html {
	const file = ui.linkButton({
		label: "Download every line with its result",
		isSmall: true,
		href: `${href}/result.csv`,
	});
	const until =
		job.state === "previewed"
			? "Nothing has been changed yet. This preview is discarded if you do not apply it within three days."
			: "The lines are removed three days after the end. The counts stay.";
	return html`<div class="row">${job.lines === "kept" ? file : null}<span class="small soft">${until}</span></div>`;
}

export const applyJobPage = change(async (c, deps, job) => {
	const { invite, confirmed } = await readTextFields(c, ["invite", "confirmed"]);
	const mayInvite = JOB_KINDS[job.kind].invitesLater !== undefined;
	return startJob(deps, job, actorOf(c), mayInvite && invite === "on", confirmed === "on");
});

export const stopJobPage = change((c, deps, job) => stopJob(deps, job, actorOf(c)));

export const discardJobPage = change((c, deps, job) => discardJob(deps, job, actorOf(c)));

type Done = "started" | "already" | "stopped" | "discarded" | "rest discarded";

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
		if (notYours !== null) return leadTo(c, jobPath(c, job), notYours, "bad");
		const done = await work(c, deps, job);
		if (!done.ok) {
			// If another person has discarded the job, its page no longer exists, so the message is shown on the
			// upload page.
			const isThere = (await jobOf(c, deps)) !== undefined;
			return leadTo(c, isThere ? jobPath(c, job) : pagesOf(job.kind).uploadPath(c), done.fault.detail, "bad");
		}
		deps.jobs.wake();
		if (done.value === "discarded") {
			const path =
				job.kind === "decisions" && job.file_name === null
					? listOf(c, job.list_query)
					: pagesOf(job.kind).uploadPath(c);
			return leadTo(c, path, "Discarded. Nothing was changed.", "info");
		}
		return c.redirect(jobPath(c, job), 303);
	};
}

/**
 * Sends the result as a CSV file. It is available after all lines were checked, until the lines are removed.
 */
export function showResultFile(isOfProblems: boolean): Answer {
	return async (c, deps) => {
		const job = await jobOf(c, deps);
		if (job === undefined || hasWork(job) || job.lines !== "kept") return answerError(c, "not_found");
		const name = `${isOfProblems ? "needs-fixing" : "result"}-${job.public_id}.csv`;
		return answerCsv(c, deps, name, jobResult(deps.store.reader, job, isOfProblems));
	};
}

/** Finds the job of the address. A job of statements has no page among imports, and the other way round. */
async function jobOf(c: WebContext, { store }: PageDeps): Promise<ListedJob | undefined> {
	const statementJobId = c.req.param("statementJobId");
	const id = c.req.param("jobId") ?? c.req.param("importId") ?? statementJobId ?? "";
	const job = await findJob(store.db, c.get("programme")?.id ?? null, id);
	return job !== undefined &&
		(pagesOf(job.kind).menuEntry === "statements") === (statementJobId !== undefined)
		? job
		: undefined;
}
