// Decisions by CSV: the form, what the file must look like, and the jobs of the last weeks.

import { EVENT_TYPES, REASONS } from "../../domain/conversion.ts";
import { type Fault, succeed } from "../../domain/fault.ts";
import type { PersonKind } from "../../domain/roles.ts";
import { MAX_BULK_ROWS } from "../../jobs/bulk-csv.ts";
import { uploadDecisions } from "../../jobs/bulk-upload.ts";
import { type ListedJob, listJobs } from "../../store/queries/bulk-jobs.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import type { BulkState } from "../../store/tables/bulk.ts";
import { answerPage, csrfField, type PageDeps, programmeOf, viewerOf, type WebContext } from "../page.ts";
import { bulkJobPath, conversionsPath } from "../paths.ts";
import { maxFileBytes, SMALL_FILES, sayTooLarge } from "../receive-file.ts";
import {
	badge,
	button,
	codeBlock,
	count,
	dataTable,
	emptyState,
	fileField,
	type Html,
	html,
	linkButton,
	more,
	padded,
	pageHeader,
	postForm,
	section,
	type Tone,
	timeTag,
} from "../ui.ts";
import { originOf } from "./bulk-job-page.ts";
import { deciderOf } from "./deciding.ts";
import { listAddress } from "./list-query.ts";

const MAX_LISTED_JOBS = 20;

const JOB_STATES: Readonly<Record<BulkState, readonly [Tone, string]>> = {
	storing: ["plain", "Uploading"],
	uploaded: ["info", "Checking"],
	previewed: ["warn", "Waiting for you"],
	applying: ["info", "Applying"],
	done: ["good", "Done"],
};

const EXAMPLE = `orderId,eventType,decision,reason
A-1001,SALE,approve,
A-1002,,reject,FRAUD
A-1003,LEAD,reverse,RETURN`;

export async function showUploadForm(
	c: WebContext,
	{ store }: PageDeps,
	error?: { text: string; status: number },
): Promise<Response> {
	const programme = programmeOf(c);
	const jobs = await listJobs(store.db, programme.id, MAX_LISTED_JOBS);
	return answerPage(c, {
		title: "Approve or reject by CSV",
		active: "conversions",
		status: error?.status ?? 200,
		body: renderForm(programme, jobs, viewerOf(c).kind, csrfField(c), error?.text, c.req.query("list")),
	});
}

export async function uploadFile(c: WebContext, deps: PageDeps): Promise<Response> {
	const upload = c.get("upload") ?? succeed(null);
	if (!upload.ok) return answerRefusal(c, deps, upload.fault);
	if (upload.value === null) {
		return showUploadForm(c, deps, { text: "Choose a CSV file first.", status: 422 });
	}
	const programme = programmeOf(c);
	const job = await uploadDecisions(deps, programme, deciderOf(c), upload.value);
	if (!job.ok) return answerRefusal(c, deps, job.fault);
	deps.bulk.wake();
	return c.redirect(bulkJobPath(programme.public_id, job.value.public_id), 303);
}

function answerRefusal(c: WebContext, deps: PageDeps, fault: Fault): Promise<Response> {
	return showUploadForm(c, deps, { text: fault.detail, status: fault.httpStatus });
}

function renderForm(
	programme: Programme,
	jobs: readonly ListedJob[],
	kind: PersonKind,
	csrf: Html,
	error: string | undefined,
	listQuery: string | undefined,
): Html {
	const base = conversionsPath(programme.public_id);
	const header = pageHeader({
		title: "Approve or reject by CSV",
		hint: `Up to ${count(MAX_BULK_ROWS)} rows in one file. You see what would change before anything does.`,
		actions: linkButton({ label: "Back to the list", href: listAddress(base, listQuery) }),
	});
	return html`${header}<div class="columns">${section({
		id: "upload",
		title: "Upload a file",
		body: padded(
			postForm({
				action: `${base}/bulk`,
				csrf,
				isUpload: true,
				body: [
					fileField({
						name: "file",
						label: "CSV file",
						accept: ".csv,text/csv",
						error,
						isRequired: true,
						limit: { bytes: maxFileBytes(SMALL_FILES), words: sayTooLarge(SMALL_FILES) },
					}),
					html`<div>${button({ label: "Upload and check", tone: "primary" })}</div>`,
				],
			}),
		),
	})}${section({ id: "format", title: "File format", body: renderFormat(kind) })}</div>${section({
		id: "jobs",
		title: "Earlier decisions",
		body: renderJobs(base, jobs),
	})}`;
}

function renderFormat(kind: PersonKind): Html {
	const who =
		kind === "staff"
			? "You can reject. Only the shop can approve or reverse."
			: "A decision is approve, reject or reverse.";
	return padded(
		codeBlock(EXAMPLE, "example file", "lines"),
		html`<p class="small soft">${who} A reason is needed to reject or reverse: as here, or in words such as “Out of stock”. Commas, semicolons and tabs work, in UTF-8 or as Excel’s “Unicode text”. The columns may also have the names that German, French, Spanish, Italian and Dutch spreadsheets give them, such as Bestellnummer, décision or motivo.</p>`,
		html`<p class="small soft">The easiest way: export the list, add a column named decision, and upload the file. Lines without a decision are skipped. Two lines that decide the same order differently are both refused.</p>`,
		html`<p class="small soft">A line with a conversionId (every export has it) decides exactly that conversion; an orderId or eventType beside it must match. Where the column is missing or the cell is empty, the line decides by orderId, compared character by character with nothing trimmed, and eventType (SALE when left out).</p>`,
		more(
			"Event types and reasons",
			html`<p class="small">${EVENT_TYPES.join(", ")}</p><p class="small">${REASONS.join(", ")}</p>`,
		),
	);
}

function renderJobs(base: string, jobs: readonly ListedJob[]): Html {
	return dataTable<ListedJob>({
		caption: "Jobs, the newest first",
		rows: jobs,
		stacks: true,
		empty: emptyState({
			title: "None yet",
			text: "Upload a file, or select several conversions on the list.",
		}),
		columns: [
			{
				title: "Source",
				namesRow: true,
				cell: (job) => html`<a class="break" href="${base}/bulk/${job.public_id}">${originOf(job)}</a>`,
			},
			{ title: "State", cell: (job) => jobBadge(job.state) },
			{ title: "Rows", isNumber: true, cell: (job) => count(job.row_count) },
			{ title: "By", cell: (job) => (job.decided_by === "review" ? "the review team" : (job.email ?? "–")) },
			{ title: "When", cell: (job) => timeTag(job.created_at_ms) },
		],
	});
}

function jobBadge(state: BulkState): Html {
	const [tone, text] = JOB_STATES[state];
	return badge(tone, text);
}
