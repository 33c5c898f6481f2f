// The page to upload a file. It has the form, a description of the file's columns, and the recent jobs.

import { EVENT_TYPES, REASONS } from "#core/domain/conversion.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { deciderOf } from "#core/web/conversions/decide-action.ts";
import { declareForm } from "#core/web/form.ts";
import { actorOf, answerPage, type PageDeps, viewerOf, type WebContext } from "#core/web/page.ts";
import {
	conversionsPath,
	importKindPath,
	ownPath,
	PROGRAMMES_PATH,
	STATEMENTS_PATH,
} from "#core/web/paths.ts";
import { IMPORT_FILES, maxFileBytes, SMALL_FILES, sayTooLarge, uploadOf } from "#core/web/receive-file.ts";
import type { Answer } from "#core/web/routes.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { comparisonMessage } from "#modules/accounts/web/restored.ts";
import { type ListedJob, listJobs } from "../store/jobs.ts";
import type { JobColumn, JobKind } from "../use-cases/kind.ts";
import { IMPORT_KINDS } from "../use-cases/kinds.ts";
import { MAX_WAITING_FILES, uploadFile } from "../use-cases/make-job.ts";
import { originOf, stateOf, whoOf } from "./job-page.ts";
import { jobPath, kindLabel, pagesOf } from "./kind-pages.ts";

/** Maximum number of jobs in the list. All waiting jobs and some finished ones fit. */
const MAX_LISTED_JOBS = MAX_WAITING_FILES + 20;

const FORM = declareForm({
	file: { label: "CSV file", accept: ".csv,.txt,text/csv", isRequired: true },
});

export function showUploadPage(kind: JobKind): Answer {
	return (c, deps) => answerUploadPage(c, deps, kind);
}

export function receiveUpload(kind: JobKind): Answer {
	return async (c, deps) => {
		const upload = uploadOf(c, "Choose a CSV file first.");
		const show = () => answerUploadPage(c, deps, kind);
		if (!upload.ok) return FORM.refuse(c, upload, show);
		const programme = c.get("programme");
		const deciding = programme === undefined ? null : { programmeId: programme.id, side: deciderOf(c).side };
		const job = await uploadFile(deps, kind, { actor: actorOf(c), deciding }, upload.value);
		if (!job.ok) return FORM.refuse(c, { fault: { ...job.fault, field: "file" } }, show);
		deps.jobs.wake();
		return c.redirect(jobPath(c, job.value), 303);
	};
}

async function answerUploadPage(c: WebContext, deps: PageDeps, kind: JobKind): Promise<Response> {
	const programme = c.get("programme");
	const isImport = isImportKind(kind);
	const jobs = await listJobs(
		deps.store.db,
		programme?.id ?? null,
		isImport ? IMPORT_KINDS : [kind.name],
		MAX_LISTED_JOBS,
	);
	const title = isImport
		? "Import from other software"
		: programme === undefined
			? "Upload payments"
			: "Decide by CSV";
	const header = isImport
		? importHeader(kind, title)
		: programme === undefined
			? paymentsHeader(title)
			: decisionsHeader(c, programme, title);
	return answerPage(c, {
		title,
		active: isImport ? "programmes" : programme === undefined ? "statements" : "conversions",
		body: html`${header}${kind.name === "payments" ? await comparisonMessage(deps) : null}${uploadSection(c, kind)}${jobsSection(c, deps, kind, jobs)}${exampleSection(kind)}`,
	});
}

/** Returns whether files of this kind come from other software. */
function isImportKind({ name }: JobKind): boolean {
	return IMPORT_KINDS.some((kind) => kind === name);
}

function paymentsHeader(title: string): Html {
	return ui.pageHeader({
		title,
		hint: "Upload the bank's list of payments. You see a preview first.",
		actions: ui.linkButton({ label: "All statements", href: STATEMENTS_PATH }),
	});
}

function importHeader({ name }: JobKind, title: string): Html {
	const kinds = IMPORT_KINDS.map((kind, index) => ({
		label: `${index + 1}. ${kindLabel(kind)}`,
		href: importKindPath(kind),
		isActive: kind === name,
	}));
	return html`${ui.pageHeader({
		title,
		hint: "Import the files in this order, as far as you have them. You see a preview first. The import itself sends no callbacks.",
		actions: ui.linkButton({ label: "Back to Programmes", href: PROGRAMMES_PATH }),
	})}${ui.tabs("Kinds of files", kinds)}`;
}

function decisionsHeader(c: WebContext, { public_id: publicId }: Programme, title: string): Html {
	const isStaff = viewerOf(c).kind === "staff";
	return ui.pageHeader({
		title,
		hint: `${isStaff ? "You can reject; only the shop can approve, reverse or refund." : "Approve, reject, reverse or refund."} You see a preview first.`,
		actions: ui.linkButton({
			label: "Back to the list",
			href: ownPath(c.req.query("back")) ?? conversionsPath(publicId),
		}),
	});
}

function uploadSection(c: WebContext, kind: JobKind): Html {
	const isImport = isImportKind(kind);
	const bounds = isImport ? IMPORT_FILES : SMALL_FILES;
	const room = `Up to ${bounds.megabytes} MB and ${ui.count(kind.maxRows)} lines.`;
	return ui.section({
		id: "upload",
		title: isImport ? `Upload a file of ${kind.noun[1]}` : "Upload a file",
		hint: kind.hint,
		body: ui.padded(
			FORM.show(c, {
				action: pagesOf(kind.name).uploadPath(c),
				looks: {
					file: {
						limit: { bytes: maxFileBytes(bounds), words: sayTooLarge(bounds) },
						hint: isImport
							? html`${room} For more, and over a slow line, run <code>ringback import ${kind.name} FILE</code> on the server: it takes 10 million lines.`
							: room,
					},
				},
				send: "Upload and check",
			}),
			kind.name === "payments"
				? html`<p class="small soft">A statement that was paid already is not paid again. Its line is left out.</p>`
				: html`<p class="small soft">You can upload the same file again: lines that are done already change nothing${isImport ? ", and existing values are never overwritten" : null}.</p>`,
		),
	});
}

function exampleSection({ name, noun, example, columns }: JobKind): Html {
	const isDecisions = name === "decisions";
	const words = isDecisions
		? html` Two lines that decide the same order differently are both refused. The columns may also have the names that German, French, Spanish, Italian and Dutch spreadsheets give them, such as Bestellnummer, décision or motivo. Event types: ${EVENT_TYPES.join(", ")}. Reasons: ${REASONS.join(", ")}.`
		: null;
	const parts = [
		html`<div class="stack">${ui.codeBlock(example, "example file")}<p class="small soft break">Cells may be separated by commas, semicolons or tabs, and columns may be in any order. Save the file in UTF-8 or as Excel’s “Unicode text”.${words}</p></div>`,
		ui.dataTable<JobColumn>({
			caption: `Columns of a file of ${noun[1]}`,
			rows: columns,
			empty: null,
			stacks: true,
			columns: [
				{ title: "Column", namesRow: true, cell: (column) => html`<code>${column.name}</code>` },
				{ title: "Needed", cell: ({ isOptional }) => (isOptional === true ? "no" : "yes") },
				{ title: "What to write", cell: ({ means }) => means },
			],
		}),
	];
	// The description of a file with decisions is folded, because people usually edit an export, which already
	// has these columns.
	const body = ui.padded(isDecisions ? ui.more("Columns and an example", ...parts) : parts);
	return ui.section({ id: "example", title: "What the file looks like", body });
}

function jobsSection(c: WebContext, deps: PageDeps, kind: JobKind, jobs: readonly ListedJob[]): Html {
	const isImport = isImportKind(kind);
	const empty = isImport
		? "Files that you or other staff upload appear here."
		: kind.name === "payments"
			? "Files of payments that you or other staff upload appear here."
			: "Upload a file, or choose all that match the filters of the list.";
	return ui.section({
		id: "jobs",
		title: isImport ? "Earlier imports" : kind.name === "payments" ? "Earlier files" : "Earlier decisions",
		body: jobTable(c, deps, jobs, {
			hasKinds: isImport,
			empty: ui.emptyState({ title: "None yet", text: empty }),
		}),
	});
}

/** Lists jobs. The column with their kind is for lists of several kinds. */
export function jobTable(
	c: WebContext,
	{ clock }: Pick<PageDeps, "clock">,
	jobs: readonly ListedJob[],
	{ hasKinds, empty }: { hasKinds: boolean; empty: Content },
): Html {
	const nowMs = clock.nowMs();
	const kindColumn: ui.Column<ListedJob> = { title: "Kind", cell: ({ kind: name }) => kindLabel(name) };
	return ui.dataTable<ListedJob>({
		caption: "Jobs, unfinished ones first",
		rows: jobs,
		stacks: true,
		empty,
		columns: [
			{
				title: "File",
				namesRow: true,
				cell: (job) => html`<a class="break" href="${jobPath(c, job)}">${originOf(job)}</a>`,
			},
			...(hasKinds ? [kindColumn] : []),
			{ title: "State", cell: (job) => ui.badge(...stateOf(job, nowMs)) },
			{
				title: "Lines",
				isNumber: true,
				cell: (job) => (job.state === "preparing" ? "–" : ui.count(job.row_count)),
			},
			{ title: "By", cell: (job) => whoOf(job, job.email) },
			{ title: "When", cell: (job) => ui.timeTag(job.created_at_ms) },
		],
	});
}
