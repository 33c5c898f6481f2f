// What a file would bring before it is imported, and brought afterwards: counts, money, programmes, and the lines that need
// fixing. And what of it cannot be undone.

import { IMPORT_KINDS, type ImportKind, type ImportKindName } from "../../jobs/import-kind.ts";
import type { ImportSummary, MoneyTotal, Problem, ProgrammeTotal } from "../../jobs/summary.ts";
import { LIMITS } from "../../people/limits.ts";
import { progressSection } from "../components/job-progress.ts";
import { STATUS_WORDS } from "../conversion-ui.ts";
import { conversionsPath, importKindPath, overviewPath, peoplePath } from "../paths.ts";
import {
	amount,
	button,
	type Column,
	type Content,
	checkbox,
	count,
	countOf,
	dataTable,
	type Html,
	html,
	linkButton,
	message,
	postForm,
	section,
	statStrip,
} from "../ui.ts";
import {
	adviceWithoutImport,
	doneMessage,
	failureMessage,
	leftOut,
	stoppedMessage,
	waitingMessage,
} from "./job-messages.ts";
import type { JobView } from "./job-view.ts";

/** While it is checked or brought in. */
export function renderProgress(view: JobView): Html {
	const { job, href, csrf } = view;
	const isChecked = job.state === "uploaded";
	const [action, label] = isChecked ? ["discard", "Cancel"] : ["stop", "Stop"];
	const progress = progressSection({
		title: isChecked ? "Checking every line" : "Importing line by line",
		done: job.done_rows,
		total: job.row_count,
		text: `${count(job.done_rows)} of ${countOf(job.row_count, "line")} ${isChecked ? "checked" : "done"}`,
		actions: postForm({
			action: `${href}/${action}`,
			csrf,
			className: "row",
			body: button({ label }),
		}),
	});
	return html`${failureMessage(view)}${progress}`;
}

/** The preview: import it, or not. */
export function renderChoice(view: JobView): Html {
	const { kind, summary, href, csrf } = view;
	if (summary === null) return html``;
	const { counts } = summary;
	const choice =
		counts.import === 0
			? html`${message("warn", adviceWithoutImport(summary))}${postForm({
					action: `${href}/discard`,
					csrf,
					className: "row",
					body: button({ label: "Discard" }),
				})}`
			: html`${leftOut(summary)}${message("info", kind.advice)}${importForm(view, summary)}`;
	return html`${waitingMessage(view)}${countStrip(view, summary)}${choice}${details(view, summary)}`;
}

function importForm(view: JobView, { counts }: ImportSummary): Html {
	const { kind, href, csrf } = view;
	const label = `Import ${countOf(counts.import, ...kind.noun)}`;
	return postForm({
		action: `${href}/apply`,
		csrf,
		body: [
			kind.name === "people" ? inviteChoice(view) : null,
			html`<div class="row">${button({ label, tone: "primary" })}${button({ label: "Discard", tone: "quiet", formAction: `${href}/discard` })}</div>`,
		],
	});
}

function inviteChoice({ isMailOn }: JobView): Html {
	if (!isMailOn) {
		return html`<p class="small soft">Nobody is mailed: this service has no mail server. When a shop is ready, create the links on its People page.</p>`;
	}
	return html`${checkbox({ name: "invite", label: "Mail each of them an invitation now" })}<p class="small soft">Without it nobody is mailed: when a shop is ready, send its people their links from its People page. At most ${count(LIMITS.importedInvitations.max)} are mailed within an hour; whoever is beyond that is added without a mail, and the result says who.</p>`;
}

/** Done, or stopped on the way. */
export function renderResult(view: JobView): Html {
	const { job, summary } = view;
	if (summary === null) return html`${stoppedMessage(view)}${failureMessage(view)}${goOn(view)}`;
	const isDone = job.state === "done";
	return html`${isDone ? doneMessage(view, summary) : stoppedMessage(view)}${failureMessage(view)}${countStrip(view, summary)}${
		isDone ? nextStep(view) : goOn(view)
	}${details(view, summary)}`;
}

/** Whoever goes on with it may be another than who began: whether people are mailed is asked again. */
function goOn(view: JobView): Content {
	const { job, kind, href, csrf } = view;
	if (job.lines !== "kept") {
		return message(
			"info",
			"The lines of this file were removed: they are kept for a day, or until somebody discards them. Upload it again to import the rest.",
		);
	}
	return postForm({
		action: `${href}/apply`,
		csrf,
		body: [
			kind.name === "people" ? inviteChoice(view) : null,
			html`<div class="row">${button({ label: "Go on with the import", tone: "primary" })}${button({ label: "Discard the rest", tone: "quiet", formAction: `${href}/discard` })}</div>`,
		],
	});
}

const NEXT: Readonly<Record<ImportKindName, string>> = {
	programmes: "Next: their people",
	people: "Next: their conversions",
	conversions: "Import another file",
};

function nextStep({ kind }: JobView): Html {
	const next = IMPORT_KINDS[IMPORT_KINDS.indexOf(kind.name) + 1] ?? kind.name;
	return html`<div class="row">${linkButton({ label: NEXT[kind.name], tone: "primary", href: importKindPath(next) })}</div>`;
}

function countStrip({ job }: JobView, { rows, counts }: ImportSummary): Html {
	const isPreview = job.state === "previewed";
	const left = job.row_count - rows;
	return statStrip([
		{ label: isPreview ? "Will be imported" : "Imported", value: count(counts.import) },
		{ label: "No change needed", value: count(counts.already) },
		{ label: "Needs fixing", value: count(counts.refused) },
		...(left > 0 ? [{ label: "Not looked at yet", value: count(left) }] : []),
	]);
}

function details(view: JobView, summary: ImportSummary): Html {
	return html`${moneySection(summary)}${programmesSection(view, summary)}${problemsSection(view, summary)}${filesNote(view)}`;
}

interface Money {
	currency: string | null;
	basket: string;
	commission: string;
	fee: string;
}

function moneyColumns<Row extends Money>(): readonly Column<Row>[] {
	const column = (title: string, part: "basket" | "commission" | "fee"): Column<Row> => ({
		title,
		isNumber: true,
		cell: (row) => (row.currency === null ? null : amount(row[part], row.currency)),
	});
	return [column("Amount", "basket"), column("Commission", "commission"), column("Fee", "fee")];
}

function moneySection({ money }: ImportSummary): Content {
	if (money.length === 0) return null;
	return section({
		id: "money",
		title: "By status",
		body: dataTable<MoneyTotal>({
			caption: "What comes in, by status and currency",
			rows: money,
			empty: null,
			stacks: true,
			columns: [
				{ title: "Status", namesRow: true, cell: ({ status }) => STATUS_WORDS[status] },
				{ title: "Conversions", isNumber: true, cell: ({ rows }) => count(rows) },
				...moneyColumns<MoneyTotal>(),
			],
		}),
	});
}

function programmesSection({ kind }: JobView, { programmes, otherProgrammeRows }: ImportSummary): Content {
	if (programmes.length === 0) return null;
	const pathOf = { programmes: overviewPath, people: peoplePath, conversions: conversionsPath }[kind.name];
	const isNew = kind.name === "programmes";
	const hasMoney = programmes.some(({ currency }) => currency !== null);
	return section({
		id: "programmes",
		title: isNew ? "New programmes" : "By programme",
		...(otherProgrammeRows > 0
			? { hint: `${countOf(otherProgrammeRows, ...kind.noun)} of further programmes are not listed here.` }
			: {}),
		body: dataTable<ProgrammeTotal>({
			caption: "What comes in, by programme",
			rows: programmes,
			empty: null,
			stacks: true,
			columns: [
				{
					title: "Programme",
					namesRow: true,
					cell: ({ id, name }) =>
						id === ""
							? html`<span class="break">${name}</span>`
							: html`<a class="break" href="${pathOf(id)}">${name}</a>`,
				},
				...(isNew ? [] : [rowsColumn(kind)]),
				...(hasMoney ? moneyColumns<ProgrammeTotal>() : []),
			],
		}),
	});
}

function rowsColumn({ noun: [, plural] }: ImportKind): Column<ProgrammeTotal> {
	const title = `${plural.charAt(0).toUpperCase()}${plural.slice(1)}`;
	return { title, isNumber: true, cell: ({ rows }) => count(rows) };
}

function problemsSection({ job, href }: JobView, { problems, counts }: ImportSummary): Content {
	if (problems.length === 0) return null;
	const more = counts.refused - problems.length;
	return section({
		id: "problems",
		title: "Needs fixing",
		hint:
			more > 0
				? `The first ${count(problems.length)} of ${countOf(counts.refused, "line")}. The file has all of them.`
				: "Corrected, the file of these lines can be uploaded as it is.",
		...(job.lines === "kept"
			? {
					actions: linkButton({ label: "Download these lines", isSmall: true, href: `${href}/problems.csv` }),
				}
			: {}),
		body: dataTable<Problem>({
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
		return html`<p class="small soft">The lines of the file were removed a day after the import; the counts stay.</p>`;
	}
	const until =
		job.state === "previewed"
			? "Not imported within a day, the file is discarded."
			: "The lines of the file are removed a day after the import; the counts stay.";
	return html`<div class="row">${linkButton({ label: "Download every line with its result", isSmall: true, href: `${href}/result.csv` })}<span class="small soft">${until}</span></div>`;
}
