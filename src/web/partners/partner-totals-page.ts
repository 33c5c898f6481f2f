// /partners/totals, for staff: what partners earned in any span of days, by programme and status, and the same as a file:
// whom to pay how much.

import * as z from "zod";
import { type CsvColumns, csvFile } from "../../conversions/csv-file.ts";
import type { Status } from "../../domain/conversion.ts";
import { formatMinor } from "../../domain/money.ts";
import { foldText } from "../../domain/visible-text.ts";
import { dayEndMs, dayStartMs, monthDays } from "../../domain/zone-day.ts";
import { type PartnershipTotal, sumByPartnership } from "../../store/queries/credits.ts";
import { type ListWalk, readListPage, walkAll } from "../../store/queries/list-page.ts";
import { listPartnerships, type NamedPartnership } from "../../store/queries/partners.ts";
import type { Db } from "../../store/store.ts";
import { STATUS_WORDS } from "../conversion-ui.ts";
import { answerCsv, separatorFor } from "../conversions/csv-answer.ts";
import { day, digitsOf, ZONE } from "../conversions/list-query.ts";
import { cursorOf, declareFilters, notUnderstood, pager, pagesOf, UNSEEN } from "../filter-query.ts";
import { answerPage, type PageDeps, viewerOf, type WebContext } from "../page.ts";
import {
	conversionsPath,
	PARTNER_TOTALS_EXPORT_PATH,
	PARTNER_TOTALS_PATH,
	partnerPath,
	withQuery,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { partnersTabs } from "./partner-list-page.ts";

/** Partnerships that are added up at once: some milliseconds each for a partner's busy month. */
const PAGE_ROWS = 50;

/** What is to be paid comes first. The others never earn, or not yet. */
const SHOWN: readonly Status[] = ["APPROVED", "RECORDED", "REJECTED", "REVERSED"];

const FILTERS = declareFilters({
	search: {
		schema: z.string().trim(),
		field: (own) => ui.textField({ ...own, label: "Partner", type: "search", placeholder: "Name or ID" }),
	},
	from: day("Sold from"),
	to: day("Sold until"),
	zone: ZONE,
	cursor: UNSEEN,
});

interface Row extends NamedPartnership {
	totals: readonly PartnershipTotal[];
}

/** Without days: the present month, as the account or the address counts days. */
function readQuery(c: WebContext, nowMs: number) {
	const read = FILTERS.read(new URL(c.req.url).search);
	const { search, cursor, from, to, zone = viewerOf(c).zone ?? "UTC" } = read.query;
	const days = (from ?? to) === undefined ? monthDays(nowMs, zone, 0) : { from, to };
	const span = {
		fromMs: days.from === undefined ? 0 : dayStartMs(days.from, zone),
		beforeMs: days.to === undefined ? Number.MAX_SAFE_INTEGER : dayEndMs(days.to, zone),
	};
	const typed = { ...days, zone, ...read.typed } as Record<string, string>;
	return { filters: { ...read, typed }, span, zone, query: { search, ...days, zone, cursor } };
}

/** Partnerships that sold something in the span. */
function walkTotals(
	db: Db,
	{ query: { search = "" }, span }: Pick<ReturnType<typeof readQuery>, "query" | "span">,
): ListWalk<Row> {
	const wanted = foldText(search);
	return {
		async read(after, limit) {
			const found = await listPartnerships(db, after, limit);
			const meant = found.filter(
				(own) => own.partner_public_id === search || foldText(own.partner_name).includes(wanted),
			);
			const partnershipIds = meant.map(({ id }) => id);
			const totals = Map.groupBy(
				await sumByPartnership(db, { ...span, partnershipIds }),
				({ partnershipId }) => partnershipId,
			);
			const rows = meant.map((own) => ({ ...own, totals: totals.get(own.id) ?? [] }));
			const last = found.at(-1);
			const next = found.length < limit || last === undefined ? null : positionOf(last);
			return { rows: rows.filter((row) => row.totals.length > 0), next };
		},
		cursorOf: positionOf,
	};
}

function positionOf({ partner_id, id }: NamedPartnership) {
	return { at: partner_id, id };
}

export async function showTotals(c: WebContext, deps: PageDeps): Promise<Response> {
	const nowMs = deps.clock.nowMs();
	const read = readQuery(c, nowMs);
	const { filters, query, zone } = read;
	const isUnderstood = Object.keys(filters.problems).length === 0;
	const list = { name: "totals of partners", path: PARTNER_TOTALS_PATH, query, cursorName: "cursor" };
	const page = isUnderstood
		? await readListPage(walkTotals(deps.store.db, read), { after: cursorOf(deps, list), limit: PAGE_ROWS })
		: null;
	const exported = withQuery(PARTNER_TOTALS_EXPORT_PATH, { ...query, cursor: undefined });
	const months = ["This month", "Last month"].map((label, back) => {
		const { from, to } = monthDays(nowMs, zone, back);
		const href = withQuery(PARTNER_TOTALS_PATH, { ...query, from, to, cursor: undefined });
		return { label, href, isActive: query.from === from && query.to === to };
	});
	return answerPage(c, {
		title: "Totals by partner",
		active: "partners",
		status: isUnderstood ? 200 : 422,
		body: html`${ui.pageHeader({
			title: "Totals by partner",
			hint: `Commission of sales by the day of the sale (${zone}), with the status they have now. Approved is what you pay. Tests are left out.`,
			...(isUnderstood ? { actions: ui.linkButton({ label: "Export", href: exported }) } : {}),
		})}${partnersTabs("totals")}${ui.tabs("Month", months)}<div class="card"><h2 class="visually-hidden">The totals</h2>${ui.filterBar(
			{
				action: PARTNER_TOTALS_PATH,
				label: "Filter the totals",
				fields: FILTERS.fields(filters, ["search", "from", "to", "zone"]),
			},
		)}${
			page === null
				? notUnderstood("Correct the field marked above.")
				: html`${totalsTable(page.rows)}${pager(pagesOf(deps, list, page))}`
		}</div>`,
	});
}

function totalsTable(rows: readonly Row[]): Html {
	return ui.dataTable<Row>({
		caption: "Commission by partner, programme and status",
		rows,
		stacks: true,
		empty: ui.emptyState({
			isAlone: true,
			title: "No sales of partners in these days",
			text: "Choose other days. Sales are credited in programmes that credit partners: see their settings.",
		}),
		columns: [
			{
				title: "Partner",
				namesRow: true,
				cell: ({ partner_public_id: id, partner_name: name }) =>
					html`<a class="break" href="${partnerPath(id)}">${name}</a>`,
			},
			{
				title: "Programme",
				cell: ({ programme_public_id: id, programme_name: name, partner_public_id: partner }) =>
					html`<a class="break" href="${withQuery(conversionsPath(id), { partner })}">${name}</a>`,
			},
			...SHOWN.map((status) => ({
				title: STATUS_WORDS[status],
				isNumber: true,
				cell: ({ totals }: Row) =>
					totals.flatMap((total) =>
						total.status === status
							? html`<div>${ui.amount(commissionOf(total), total.currency)}<span class="secondary">${ui.countOf(total.count, "sale")}</span></div>`
							: [],
					),
			})),
		],
	});
}

function commissionOf({ commissionMinor, currency }: PartnershipTotal): string {
	return formatMinor(commissionMinor, digitsOf(currency));
}

/** A line for each partnership, status and currency. */
const COLUMNS: CsvColumns<NamedPartnership & PartnershipTotal> = [
	["partner", (row) => row.partner_name],
	["partnerId", (row) => row.partner_public_id],
	["programme", (row) => row.programme_name],
	["programId", (row) => row.programme_public_id],
	["status", (row) => row.status],
	["sales", (row) => String(row.count)],
	["basketValue", (row) => formatMinor(row.basketMinor, digitsOf(row.currency)), "amount"],
	["commission", commissionOf, "amount"],
	["currency", (row) => row.currency],
];

export function exportTotals(c: WebContext, deps: PageDeps): Response | Promise<Response> {
	const read = readQuery(c, deps.clock.nowMs());
	if (Object.keys(read.filters.problems).length > 0) return showTotals(c, deps);
	const { from = "", to = "" } = read.query;
	const lines = csvFile(COLUMNS, readLines(deps.store.db, read), separatorFor());
	return answerCsv(c, deps, `partners-${from}-${to}.csv`, lines);
}

async function* readLines(db: Db, read: ReturnType<typeof readQuery>) {
	for await (const { rows } of walkAll(walkTotals(db, read), PAGE_ROWS)) {
		yield rows.flatMap((row) => row.totals.map((total) => ({ ...row, ...total })));
	}
}
