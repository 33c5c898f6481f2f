// What a job would do before it is applied, and did afterwards: counts, money, programmes, and the lines that need fixing;
// what of it cannot be undone, what keeps it from getting on, and what to do next.

import { SECOND_MS } from "../../domain/time.ts";
import type { JobKind } from "../../jobs/kind.ts";
import { IMPORT_KINDS } from "../../jobs/kinds.ts";
import type { BatchFailure } from "../../jobs/lines.ts";
import type { JobSummary, MoneyTotal, Problem } from "../../jobs/summary.ts";
import { CLAIM_MS } from "../../jobs/work.ts";
import { LIMITS } from "../../people/limits.ts";
import type { Job, ListedJob } from "../../store/queries/jobs.ts";
import type { JobState } from "../../store/tables/jobs.ts";
import { STATUS_WORDS } from "../conversion-ui.ts";
import { listAddress } from "../conversions/list-query.ts";
import { programmeOf, type WebContext } from "../page.ts";
import { bulkJobPath, bulkPath, conversionsPath, importJobPath, importKindPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, count, countOf, type Html, html, message } from "../ui.ts";

export interface JobView {
	title: string;
	job: ListedJob;
	kind: JobKind;
	words: JobWords;
	/** Null before the first batch, and of what came from 1.0. */
	summary: JobSummary | null;
	/** Why the last batch was not stored; null where it was. */
	failure: BatchFailure | null;
	href: string;
	backHref: string;
	/** Why this reader may not apply it; null when they may. */
	notYours: string | null;
	/** Whether mails can be sent. */
	isMailOn: boolean;
}

interface JobWords {
	/** The page where such files are uploaded. */
	page: string;
	back: string;
	states: Readonly<Record<JobState, string>>;
	/** What is done to a line, what will be and what was. */
	verb: string;
	will: string;
	did: string;
	/** What the button counts; the kind's noun unless told. */
	noun?: string;
}

const IMPORT: JobWords = {
	page: "Import from other software",
	back: "All imports",
	states: {
		storing: "Checking the file",
		uploaded: "Checking the file",
		previewed: "Check before you import",
		applying: "Importing",
		stopped: "Import stopped",
		done: "Import finished",
		discarded: "Import discarded",
	},
	verb: "Import",
	will: "Will be imported",
	did: "Imported",
};

const DECISIONS: JobWords = {
	page: "Approve or reject by CSV",
	back: "Back to the list",
	states: {
		storing: "Checking decisions",
		uploaded: "Checking decisions",
		previewed: "Check before you apply",
		applying: "Applying decisions",
		stopped: "Decisions stopped",
		done: "Decisions applied",
		discarded: "Decisions discarded",
	},
	verb: "Apply",
	will: "Will change",
	did: "Changed",
	noun: "change",
};

export function wordsOf({ name }: JobKind): JobWords {
	return name === "decisions" ? DECISIONS : IMPORT;
}

export function uploadPath(c: WebContext, { name }: JobKind): string {
	return name === "decisions" ? bulkPath(programmeOf(c).public_id) : importKindPath(name);
}

export function jobPath(c: WebContext, { kind, public_id: publicId }: Job): string {
	return kind === "decisions" ? bulkJobPath(programmeOf(c).public_id, publicId) : importJobPath(publicId);
}

export function backPath(c: WebContext, { kind, list_query: query }: Job): string {
	if (kind !== "decisions") return importKindPath(kind);
	return listAddress(conversionsPath(programmeOf(c).public_id), query);
}

/** Where it came from, in words. */
export function originOf({ file_name: fileName }: Pick<Job, "file_name">): string {
	return fileName === null ? "All that matched the filters" : fileName || "A file";
}

export function whoOf(email: string | null): Content {
	return email === null ? "–" : ui.emailText(email);
}

/** By somebody, or because it was left for days. */
export function isRestDiscarded({ state, lines }: Job): boolean {
	return state === "stopped" && lines !== "kept";
}

const JOB_ID = "job";

/** While there is more to come it moves on by itself: htmx asks again every second; without scripts the browser reloads. */
export function renderJob(view: JobView): Html {
	const { title, job, words, href, backHref } = view;
	const header = ui.pageHeader({
		title,
		hint: hintOf(view),
		actions: ui.linkButton({ label: words.back, href: backHref }),
	});
	if (job.state === "uploaded" || job.state === "applying") {
		return html`<div id="${JOB_ID}" class="stack" hx-get="${href}" hx-trigger="every 1s" hx-select="#${JOB_ID}" hx-target="this" hx-swap="outerHTML">${header}${renderProgress(view)}</div>`;
	}
	const body = job.state === "previewed" ? renderChoice(view) : renderResult(view);
	return html`<div id="${JOB_ID}" class="stack">${header}${body}</div>`;
}

function hintOf({ job, kind }: JobView): Content {
	const file = `${originOf(job)} · ${countOf(job.row_count, "line")} about ${kind.noun[1]}`;
	const by = job.decided_by === "review" ? "the review team" : whoOf(job.email);
	const made = html`${job.file_name === null ? "chosen" : "uploaded"} by ${by}, ${ui.timeTag(job.created_at_ms)}`;
	if (job.applied_at_ms === null) return html`<span class="break">${file}</span> · ${made}`;
	const applier = job.decided_by === "review" ? "the review team" : whoOf(job.appliedByEmail);
	return html`<span class="break">${file}</span> · ${made} · begun by ${applier}, ${ui.timeTag(job.applied_at_ms)}`;
}

function renderProgress(view: JobView): Html {
	const { job, href, words, notYours } = view;
	const isChecked = job.state === "uploaded";
	const [action, label] = isChecked ? ["discard", "Cancel"] : ["stop", "Stop"];
	const text = `${count(job.done_rows)} of ${countOf(job.row_count, "line")} ${isChecked ? "checked" : "done"}`;
	const progress = ui.section({
		id: "progress",
		title: isChecked ? "Checking every line" : words.states.applying,
		hint: "You can leave this page: the work goes on, and the result stays here.",
		body: ui.padded(
			html`<progress class="bar-share" max="${job.row_count}" value="${job.done_rows}" aria-label="${text}">${text}</progress>`,
			html`<p class="soft" role="status">${text}</p>`,
			html`<noscript><meta http-equiv="refresh" content="2"></noscript>`,
			notYours === null
				? ui.postForm({ action: `${href}/${action}`, className: "row", body: ui.button({ label }) })
				: null,
		),
	});
	return html`${failureMessage(view)}${progress}`;
}

/** The preview: apply it, or not. */
function renderChoice(view: JobView): Html {
	const { kind, summary, notYours } = view;
	if (summary === null) return html``;
	const choice = notYours === null ? choiceOf(view, summary) : message("info", notYours);
	return html`${waitingMessage(view)}${countStrip(view, summary)}${
		summary.counts.change === 0 ? null : html`${leftOut(summary)}${message("info", kind.advice)}`
	}${choice}${details(view, summary)}`;
}

function choiceOf(view: JobView, { counts }: JobSummary): Html {
	const { words, kind, href } = view;
	if (counts.change === 0) {
		const advice =
			counts.refused === 0
				? "Nothing to do: everything in this file is as it should be already."
				: "Nothing to do: every line is as it should be already or needs fixing. Correct the lines below, and upload the file again.";
		const body = ui.button({ label: "Discard" });
		return html`${message("warn", advice)}${ui.postForm({ action: `${href}/discard`, className: "row", body })}`;
	}
	const what =
		words.noun === undefined ? countOf(counts.change, ...kind.noun) : countOf(counts.change, words.noun);
	return applyForm(view, `${words.verb} ${what}`, "Discard");
}

/** Whoever goes on with it may be another than who began: whether people are mailed is asked again. */
function applyForm(view: JobView, label: string, discard: string): Html {
	const { kind, href } = view;
	return ui.postForm({
		action: `${href}/apply`,
		body: [
			kind.name === "people" ? inviteChoice(view) : null,
			html`<div class="row">${ui.button({ label, tone: "primary" })}${ui.button({ label: discard, tone: "quiet", formAction: `${href}/discard` })}</div>`,
		],
	});
}

function inviteChoice({ isMailOn }: JobView): Html {
	if (!isMailOn) {
		return html`<p class="small soft">Nobody is mailed: this service has no mail server. When a shop is ready, create the links on its People page.</p>`;
	}
	return html`${ui.checkbox({ name: "invite", label: "Mail each of them an invitation now" })}<p class="small soft">Without it nobody is mailed: when a shop is ready, send its people their links from its People page. At most ${count(LIMITS.importedInvitations.max)} are mailed within an hour; whoever is beyond that is added without a mail, and the result says who.</p>`;
}

/** Done, or stopped on the way. */
function renderResult(view: JobView): Html {
	const { job, summary } = view;
	const isDone = job.state === "done";
	const goOn = isDone ? nextStep(view) : renderGoOn(view);
	if (summary === null) {
		const kept = job.lines === "gone" ? message("info", NOT_KEPT) : null;
		return html`${isDone ? null : stoppedMessage(view)}${failureMessage(view)}${kept}${goOn}`;
	}
	return html`${isDone ? doneMessage(view, summary) : stoppedMessage(view)}${failureMessage(view)}${countStrip(view, summary)}${goOn}${details(view, summary)}`;
}

const NOT_KEPT =
	"What became of each line was not kept when the service was upgraded. The history of a conversion says what was decided about it.";

function renderGoOn(view: JobView): Content {
	if (view.job.lines !== "kept") {
		return message(
			"info",
			"The lines of this file were removed: they are kept for three days, or until somebody discards them. Upload it again for the rest.",
		);
	}
	if (view.notYours !== null) return message("info", view.notYours);
	return applyForm(view, "Go on", "Discard the rest");
}

const NEXT = {
	programmes: "Next: their people",
	people: "Next: their conversions",
	conversions: "Import another file",
} as const;

function nextStep({ kind: { name } }: JobView): Content {
	if (name === "decisions") return null;
	const next = IMPORT_KINDS[IMPORT_KINDS.indexOf(name) + 1] ?? name;
	return html`<div class="row">${ui.linkButton({ label: NEXT[name], tone: "primary", href: importKindPath(next) })}</div>`;
}

function leftOut({ counts }: JobSummary): Content {
	if (counts.refused === 0) return null;
	return message(
		"warn",
		`${countOf(counts.refused, "line")} will be left out, because ${counts.refused === 1 ? "it needs" : "they need"} fixing. Go on with the others now and those later, or correct the file and upload it again.`,
	);
}

function doneMessage({ kind, words, job }: JobView, { counts, remarks }: JobSummary): Html {
	const sentences = [
		`${countOf(counts.change, ...kind.noun)} ${words.did.toLowerCase()}.`,
		job.invites === 1 && counts.change > remarks ? "Their invitations are on their way." : "",
		remarks > 0
			? `${countOf(remarks, ...kind.noun)} came in without a mail; the result file says who and why.`
			: "",
		counts.refused > 0 ? `${countOf(counts.refused, "line")} left out: see below.` : "",
	];
	const tone = counts.refused === 0 && remarks === 0 ? "good" : "warn";
	return message(tone, sentences.filter((sentence) => sentence !== "").join(" "));
}

function stoppedMessage({ job }: JobView): Html {
	const { access_ended_at_ms: endedAtMs } = job;
	const stopped = `Stopped after ${count(job.done_rows)} of ${countOf(job.row_count, "line")}`;
	const stays = "What was done until then stays.";
	if (endedAtMs === null) return message("warn", `${stopped}. ${stays}`);
	const because = endedAtMs === job.finished_at_ms ? `${stopped}, because` : `${stopped}. Since then`;
	const advice = isRestDiscarded(job)
		? "Look at what was done."
		: "Look at what was done, then go on with it or discard the rest.";
	return message(
		"warn",
		html`${because} ${whoOf(job.appliedByEmail)} got a new password or lost their access (${ui.timeTag(endedAtMs)}). ${stays} ${advice}`,
	);
}

/** Whoever has somebody's password can upload in their name, too. */
function waitingMessage({ job }: JobView): Content {
	if (job.access_ended_at_ms === null) return null;
	return message(
		"warn",
		html`Since this was prepared, ${whoOf(job.email)} got a new password or lost their access (${ui.timeTag(job.access_ended_at_ms)}). Nothing of it was done. Look at what it would change before you go on; if nobody knows the file, discard it.`,
	);
}

const WHY: Readonly<Record<BatchFailure["cause"], string>> = {
	database: "the database was out of reach, too busy, or out of room",
	unexpected: "an unexpected error",
};

/** While it is tried again, and once somebody has stopped it. */
function failureMessage({ job, failure }: JobView): Content {
	if (failure === null) return null;
	const { cause, firstLine, lastLine, atMs } = failure;
	const lines =
		firstLine === lastLine ? `Line ${count(lastLine)}` : `Lines ${count(firstLine)} to ${count(lastLine)}`;
	const done = job.state === "uploaded" ? "checked" : "stored";
	const again =
		job.state === "stopped"
			? "None of them was stored."
			: `None of them was stored, and they are tried again every ${CLAIM_MS / SECOND_MS} seconds.`;
	const advice =
		cause === "database"
			? "If it continues, look at the System page: it says how the database does, and how much room there is."
			: html`If it continues, look into the service’s log at that time, for <code>a chore failed</code>. The other lines can do without these: take these out of the file, and upload it again.`;
	return message(
		"bad",
		html`${lines} could not be ${done} (${ui.timeTag(atMs)}): ${WHY[cause]}. ${again} ${advice}`,
	);
}

function countStrip({ job, words }: JobView, { rows, counts }: JobSummary): Html {
	const left = job.row_count - rows;
	return ui.statStrip([
		{ label: job.state === "previewed" ? words.will : words.did, value: count(counts.change) },
		{ label: "No change needed", value: count(counts.already) },
		{ label: "Needs fixing", value: count(counts.refused) },
		...(left > 0 ? [{ label: "Not looked at yet", value: count(left) }] : []),
	]);
}

function details(view: JobView, summary: JobSummary): Html {
	return html`${moneySection(summary)}${problemsSection(view, summary)}${filesNote(view)}`;
}

const MONEY_COLUMNS = [
	["Amount", "basket"],
	["Commission", "commission"],
	["Fee", "fee"],
] as const;

function moneySection({ money }: JobSummary): Content {
	if (money.length === 0) return null;
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
				{ title: "Status", namesRow: true, cell: ({ status }) => STATUS_WORDS[status] },
				{
					title: "Conversions",
					isNumber: true,
					cell: ({ rows, tests }) =>
						tests === 0
							? count(rows)
							: html`${count(rows)}<span class="secondary">${countOf(tests, "test")}</span>`,
				},
				...MONEY_COLUMNS.map(
					([title, part]): ui.Column<MoneyTotal> => ({
						title,
						isNumber: true,
						cell: (row) => ui.amount(row[part], row.currency),
					}),
				),
			],
		}),
	});
}

function problemsSection({ job, href }: JobView, { problems, counts }: JobSummary): Content {
	if (problems.length === 0) return null;
	const more = counts.refused - problems.length;
	return ui.section({
		id: "problems",
		title: "Needs fixing",
		hint:
			more > 0
				? `The first ${count(problems.length)} of ${countOf(counts.refused, "line")}. The file has all of them.`
				: "Corrected, the file of these lines can be uploaded as it is.",
		...(job.lines === "kept"
			? {
					actions: ui.linkButton({
						label: "Download these lines",
						isSmall: true,
						href: `${href}/problems.csv`,
					}),
				}
			: {}),
		body: ui.dataTable<Problem>({
			caption: "Lines that need fixing",
			rows: problems,
			empty: null,
			stacks: true,
			columns: [
				{
					title: "Line",
					namesRow: true,
					cell: ({ line }) => html`<span class="nowrap">Line ${count(line)}</span>`,
				},
				{ title: "What to put right", cell: ({ detail }) => html`<span class="break">${detail}</span>` },
			],
		}),
	});
}

function filesNote({ job, href }: JobView): Content {
	if (job.lines !== "kept") {
		if (job.state === "stopped") return null;
		return html`<p class="small soft">The lines were removed three days after the end; the counts stay.</p>`;
	}
	const until =
		job.state === "previewed"
			? "Not applied within three days, it is discarded."
			: "The lines are removed three days after the end; the counts stay.";
	return html`<div class="row">${ui.linkButton({ label: "Download every line with its result", isSmall: true, href: `${href}/result.csv` })}<span class="small soft">${until}</span></div>`;
}
