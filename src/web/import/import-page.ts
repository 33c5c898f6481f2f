// Where staff bring files from other software: the form, what each kind of file must look like, and the imports of the
// last weeks.

import { csvFile } from "../../conversions/csv-file.ts";
import { type Fault, succeed } from "../../domain/fault.ts";
import {
	IMPORT_KINDS,
	type ImportColumn,
	type ImportKind,
	type ImportKindName,
} from "../../jobs/import-kind.ts";
import { importKind } from "../../jobs/import-kinds.ts";
import { MAX_UPLOADED_ROWS, MAX_WAITING_FILES, uploadImport } from "../../jobs/import-upload.ts";
import { type ListedImport, listImports } from "../../store/queries/import-jobs.ts";
import type { ImportState } from "../../store/tables/imports.ts";
import { answerCsv } from "../conversions/csv-answer.ts";
import { answerPage, csrfField, makerOf, type PageDeps, type WebContext } from "../page.ts";
import { importJobPath, importKindPath, PROGRAMMES_PATH } from "../paths.ts";
import { IMPORT_FILES, maxFileBytes, sayTooLarge } from "../receive-file.ts";
import type { Answer } from "../routes.ts";
import {
	badge,
	button,
	type Content,
	codeBlock,
	count,
	dataTable,
	emailText,
	emptyState,
	fileField,
	type Html,
	html,
	linkButton,
	padded,
	pageHeader,
	postForm,
	section,
	type Tone,
	tabs,
	timeTag,
} from "../ui.ts";
import { isRestDiscarded } from "./job-view.ts";

/** All that may wait, and some that have ended. */
const MAX_LISTED_JOBS = MAX_WAITING_FILES + 20;

const KIND_TITLES: Readonly<Record<ImportKindName, string>> = {
	programmes: "Programmes",
	people: "People",
	conversions: "Conversions",
};

const JOB_STATES: Readonly<Record<ImportState, readonly [Tone, string]>> = {
	storing: ["plain", "Uploading"],
	uploaded: ["info", "Checking"],
	previewed: ["warn", "Waiting for you"],
	applying: ["info", "Importing"],
	stopped: ["warn", "Stopped"],
	done: ["good", "Done"],
	discarded: ["plain", "Discarded"],
};

const RETRIED: readonly [Tone, string] = ["warn", "Trying again"];
const REST_DISCARDED: readonly [Tone, string] = ["plain", "Stopped, rest discarded"];

export function showImport(kind: ImportKind): Answer {
	return (c, deps) => answerImport(c, deps, kind);
}

export function uploadFile(kind: ImportKind): Answer {
	return async (c, deps) => {
		const upload = c.get("upload") ?? succeed(null);
		if (!upload.ok) return answerImport(c, deps, kind, upload.fault);
		if (upload.value === null) {
			return answerImport(c, deps, kind, { detail: "Choose a CSV file first.", httpStatus: 422 });
		}
		const job = await uploadImport(deps, kind, makerOf(c), upload.value);
		if (!job.ok) return answerImport(c, deps, kind, job.fault);
		deps.imports.wake();
		return c.redirect(importJobPath(job.value.public_id), 303);
	};
}

/** Its first line, for whoever begins with an empty file. With semicolons where spreadsheets part cells by them. */
export function showTemplate(kind: ImportKind): Answer {
	return (c, deps) => {
		const columns = kind.columns.map(({ name }) => [name, () => ""] as const);
		const separator = c.req.query("csv") === "semicolon" ? ";" : ",";
		return answerCsv(c, deps, `${kind.name}.csv`, csvFile(columns, noRows(), separator));
	};
}

async function* noRows(): AsyncGenerator<readonly never[]> {
	yield [];
}

async function answerImport(
	c: WebContext,
	{ store }: PageDeps,
	kind: ImportKind,
	problem?: Pick<Fault, "detail" | "httpStatus">,
): Promise<Response> {
	const jobs = await listImports(store.db, MAX_LISTED_JOBS);
	return answerPage(c, {
		title: "Import from other software",
		active: "programmes",
		status: problem?.httpStatus ?? 200,
		body: html`${pageHeader({
			title: "Import from other software",
			hint: "First programmes, then their people, then decided conversions. You see what would come of a file before anything is imported, and no callback is sent for what is.",
			actions: linkButton({ label: "Back to Programmes", href: PROGRAMMES_PATH }),
		})}${kindTabs(kind)}<div class="columns">${uploadSection(kind, csrfField(c), problem?.detail)}${exampleSection(kind)}</div>${columnsSection(kind)}${jobsSection(jobs)}`,
	});
}

function kindTabs({ name }: ImportKind): Html {
	const list = IMPORT_KINDS.map((kind, index) => ({
		label: `${index + 1}. ${KIND_TITLES[kind]}`,
		href: importKindPath(kind),
		isActive: kind === name,
	}));
	return tabs("Kinds of files", list);
}

const HINTS: Readonly<Record<ImportKindName, string>> = {
	programmes: "One line a programme. Its owner gets an account, and no mail.",
	people: "One line for each person and programme. Nobody is mailed unless you say so after the preview.",
	conversions:
		"One line a conversion that was approved, rejected or reversed. It counts in every total, and the shop is not told of it.",
};

function uploadSection(kind: ImportKind, csrf: Html, error: string | undefined): Html {
	return section({
		id: "upload",
		title: `Upload a file of ${kind.noun[1]}`,
		hint: HINTS[kind.name],
		body: padded(
			postForm({
				action: importKindPath(kind.name),
				csrf,
				isUpload: true,
				body: [
					fileField({
						name: "file",
						label: "CSV file",
						accept: ".csv,.txt,text/csv",
						error,
						isRequired: true,
						limit: { bytes: maxFileBytes(IMPORT_FILES), words: sayTooLarge(IMPORT_FILES) },
						hint: html`Up to ${IMPORT_FILES.megabytes} MB and ${count(MAX_UPLOADED_ROWS)} lines. For more, and over a slow line, run <code>ringback import ${kind.name} FILE</code> on the server: it takes files of any size.`,
					}),
					html`<div>${button({ label: "Upload and check", tone: "primary" })}</div>`,
				],
			}),
			html`<p class="small soft">The same file may be uploaded as often as you like: what is here already and the same stays as it is, and what differs is never overwritten.</p>`,
		),
	});
}

function exampleSection(kind: ImportKind): Html {
	const template = `${importKindPath(kind.name)}/template.csv`;
	return section({
		id: "example",
		title: "What it looks like",
		body: padded(
			codeBlock(kind.example, "example file"),
			html`<p class="small soft">Commas, semicolons and tabs work, a decimal comma or point, and any order of columns; in UTF-8 or as Excel’s “Unicode text”.</p>`,
			html`<div class="row">${linkButton({ label: "Template (commas)", isSmall: true, href: template })}${linkButton({ label: "Template (semicolons)", isSmall: true, href: `${template}?csv=semicolon` })}</div>`,
		),
	});
}

function columnsSection(kind: ImportKind): Html {
	return section({
		id: "columns",
		title: "Columns",
		body: dataTable<ImportColumn>({
			caption: `Columns of a file of ${kind.noun[1]}`,
			rows: kind.columns,
			empty: null,
			stacks: true,
			columns: [
				{ title: "Name", namesRow: true, cell: ({ name }) => html`<code>${name}</code>` },
				{ title: "Needed", cell: ({ isOptional }) => (isOptional === true ? "no" : "yes") },
				{ title: "What to write", cell: ({ means }) => means },
			],
		}),
	});
}

function jobsSection(jobs: readonly ListedImport[]): Html {
	return section({
		id: "jobs",
		title: "Earlier imports",
		body: dataTable<ListedImport>({
			caption: "Imports, unfinished ones first",
			rows: jobs,
			stacks: true,
			empty: emptyState({
				title: "None yet",
				text: "Files that you or others of the staff upload show up here. Imports from a shell are in the audit log.",
			}),
			columns: [
				{
					title: "File",
					namesRow: true,
					cell: (job) =>
						html`<a class="break" href="${importJobPath(job.public_id)}">${job.file_name || "a file"}</a>`,
				},
				{ title: "Kind", cell: ({ kind }) => KIND_TITLES[kind] },
				{ title: "State", cell: stateBadge },
				{ title: "Lines", isNumber: true, cell: (job) => count(job.row_count) },
				{ title: "By", cell: ({ email }) => whoOf(email) },
				{ title: "When", cell: (job) => timeTag(job.created_at_ms) },
			],
		}),
	});
}

function stateBadge(job: ListedImport): Html {
	const { state, failure } = job;
	if (isRestDiscarded(job)) return badge(...REST_DISCARDED);
	const isMoving = state === "uploaded" || state === "applying";
	return badge(...(isMoving && failure !== null ? RETRIED : JOB_STATES[state]));
}

export function whoOf(email: string | null): Content {
	return email === null ? "–" : emailText(email);
}

/** For the tables of routes. */
export const KINDS: readonly ImportKind[] = IMPORT_KINDS.map(importKind);
