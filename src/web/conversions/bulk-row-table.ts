// The rows of a job, what each would do or did, and the tabs that show one kind of them.

import { EVENT_TYPES, REASONS } from "../../domain/conversion.ts";
import { showUnseen } from "../../domain/visible-text.ts";
import type { BulkRow, VerdictCounts } from "../../store/queries/bulk-rows.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import type { BulkVerdict } from "../../store/tables/bulk.ts";
import { reasonWords, titleCase } from "../conversion-ui.ts";
import { pager } from "../filter-query.ts";
import { conversionPath } from "../paths.ts";
import {
	amount,
	badge,
	type Column,
	type Content,
	count,
	dataTable,
	emptyState,
	type Html,
	html,
	section,
	type Tone,
	tabs,
} from "../ui.ts";

export const VERDICTS = ["change", "already", "refused", "unknown", "malformed", "left"] as const;

/** Of each kind of row: its tone, and its words before and after the job is applied. */
const VERDICT_LOOKS: Readonly<Record<BulkVerdict, readonly [tone: Tone, before: string, after: string]>> = {
	change: ["good", "Will change", "Changed"],
	already: ["plain", "No change needed", "No change needed"],
	refused: ["bad", "Refused", "Refused"],
	unknown: ["warn", "Unknown order", "Unknown order"],
	malformed: ["warn", "Needs fixing", "Needs fixing"],
	left: ["plain", "Skipped (no decision)", "Skipped (no decision)"],
};

export function verdictWords(verdict: BulkVerdict, isApplied: boolean): string {
	const [, before, after] = VERDICT_LOOKS[verdict];
	return isApplied ? after : before;
}

export interface RowsView {
	/** One more than the page shows, where there is one. */
	rows: readonly BulkRow[];
	pageRows: number;
	counts: VerdictCounts;
	/** Only rows of this kind. */
	verdict: BulkVerdict | undefined;
	afterSeq: number;
	href: string;
	programme: Programme;
	isApplied: boolean;
	/** Whether the rows are lines of a file. */
	isFile: boolean;
}

export function bulkRowTable(view: RowsView): Html {
	const { href, verdict, isApplied } = view;
	const shown = view.rows.slice(0, view.pageRows);
	const last = shown.at(-1);
	const firstHref = verdict === undefined ? href : `${href}?rows=${verdict}`;
	const sign = verdict === undefined ? "?" : "&";
	const total = VERDICTS.reduce((sum, kind) => sum + view.counts[kind], 0);
	const kinds = VERDICTS.filter((kind) => view.counts[kind] > 0).map((kind) => ({
		label: `${verdictWords(kind, isApplied)} (${count(view.counts[kind])})`,
		href: `${href}?rows=${kind}`,
		isActive: verdict === kind,
	}));
	const all = { label: `All (${count(total)})`, href, isActive: verdict === undefined };
	return section({
		id: "rows",
		title: view.isFile ? (isApplied ? "What each row did" : "What each row would do") : "The conversions",
		body: html`<div class="tabs-frame">${tabs("Rows", [all, ...kinds])}</div>${dataTable({
			caption: view.isFile ? "Rows in the order of the file" : "Conversions, the newest first",
			columns: columnsFor(view),
			rows: shown,
			stacks: true,
			empty: emptyState({ title: "No such rows", text: "Choose another kind above." }),
		})}${pager(
			{
				newestHref: view.afterSeq === 0 ? null : firstHref,
				olderHref:
					view.rows.length > shown.length && last !== undefined
						? `${firstHref}${sign}after=${last.seq}`
						: null,
				shown: `${count(shown.length)} on this page`,
			},
			["First", "Next"],
		)}`,
	});
}

function columnsFor({ programme, isApplied, isFile }: RowsView): readonly Column<BulkRow>[] {
	const line: Column<BulkRow> = { title: "Line", isNumber: true, cell: (row) => String(row.line) };
	return [
		...(isFile ? [line] : []),
		{ title: "Order", namesRow: true, cell: (row) => orderOf(row, programme.public_id) },
		{ title: "Decision", cell: decisionOf },
		{ title: "Basket", isNumber: true, cell: basketOf },
		{
			title: isApplied ? "Result" : "Preview",
			cell: (row) => {
				const verdict = row.outcome ?? row.verdict;
				return html`${verdict === null ? null : badge(VERDICT_LOOKS[verdict][0], verdictWords(verdict, isApplied))}${
					row.detail === null ? null : html`<span class="secondary row-detail">${row.detail}</span>`
				}`;
			},
		},
	];
}

function orderOf(row: BulkRow, programmePublicId: string): Html {
	// A line may name nothing but a conversion that is not there.
	const text = showUnseen(row.order_id === "" ? row.named_conversion : row.order_id);
	const name =
		row.conversion === null
			? html`<span class="order-id mono" title="${text}">${text}</span>`
			: html`<a class="order-id mono" href="${conversionPath(programmePublicId, row.conversion)}" title="${text}">${text}</a>`;
	const eventType = EVENT_TYPES.find((known) => known === row.event_type);
	const type = eventType === undefined ? row.event_type : titleCase(eventType);
	return html`${name}<span class="secondary">${type}</span>`;
}

/** Where it changes something. */
function basketOf({ basket_value: basket, currency }: BulkRow): Content {
	return basket === null || currency === null ? null : amount(basket, currency);
}

function decisionOf(row: BulkRow): Content {
	const reason = REASONS.find((known) => known === row.reason);
	const why = reason === undefined ? row.reason : reasonWords(reason);
	return html`${row.decision}${why === "" ? null : html`<span class="secondary">${why}</span>`}`;
}
