// The page "Conversions". Below /programmes it lists the sales of one programme, for its people and for staff. Below
// /conversions it lists the sales of all programmes, for staff only.

import { findNamedCredits } from "#modules/partners/store/credits.ts";
import { exportAllConversions, exportConversions } from "../../conversions/export.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import { dayIn } from "../../domain/zone-day.ts";
import { listConversions } from "../../store/queries/conversion-list.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import { findProgrammesById, type Programme } from "../../store/queries/programmes.ts";
import type { Db } from "../../store/store.ts";
import { orderCell, STATUS_WORDS, statusCell } from "../conversion-ui.ts";
import { type Listed, readRows, type Selection, showList } from "../list.ts";
import { answerPage, may, type PageDeps, standingOf, type WebContext } from "../page.ts";
import { bulkPath, conversionsPath, integrationPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { answerCsv, csvFormFor } from "./csv-answer.ts";
import { decisionBar, movesFor } from "./decide-action.ts";
import {
	type AskedConversions,
	askConversions,
	BY_DAY,
	type ListedBy,
	listPath,
	readTotals,
	type Totals,
} from "./list-query.ts";

/** Sends the list as a CSV file. The file has the filters and the order of the page, but contains every row. */
export async function showExport(c: WebContext, deps: PageDeps): Promise<Response> {
	const { store, clock } = deps;
	const programme: Programme | null = c.get("programme") ?? null;
	const { asked, filter } = await askConversions(c, deps, programme);
	// An unfiltered file could be mistaken for a filtered one. If a filter is invalid, the page is shown instead and
	// names that filter.
	if (!asked.isUnderstood) return showConversions(c, deps);
	const [form, day] = [csvFormFor(c), dayIn(clock.nowMs(), c.get("network").timeZone)];
	if (programme === null) {
		const all = exportAllConversions(store.reader, filter, asked.order, form);
		return answerCsv(c, deps, `conversions-${day}.csv`, all);
	}
	const namesPartners = programme.credits_partners === 1;
	const lines = exportConversions(store.reader, filter, asked.order, form, namesPartners);
	return answerCsv(c, deps, `conversions-${programme.public_id}-${day}.csv`, lines);
}

/** Data of the list for one request. */
interface ListView {
	/** Programme whose conversions are listed, or null for all programmes. */
	programme: Programme | null;
	asked: AskedConversions;
	page: Listed<Conversion>;
	/** Programmes of the listed conversions, by row id. */
	programmes: ReadonlyMap<number, Programme>;
	/** Time zone of the days in filters and rows. */
	zone: string;
}

export async function showConversions(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme: Programme | null = c.get("programme") ?? null;
	const zone = c.get("network").timeZone;
	const { asked, filter } = await askConversions(c, deps, programme);
	const name = programme === null ? "conversions" : `conversions of programme:${programme.id}`;
	const page = await readRows(deps, asked, name, (at) =>
		// The query does not count the rows, because the totals already do.
		listConversions(deps.store.reader, { ...filter, sort: asked.order, ...at, isCounted: false }),
	);
	const shown = { rows: page.rows, isAll: page.firstHref === null && page.next === null };
	const totals = page.rows.length === 0 ? null : await readTotals(deps, { filter, zone }, programme, shown);
	const programmes =
		programme === null
			? await findProgrammesById(deps.store.db, [...new Set(page.rows.map((row) => row.programme_id))])
			: new Map([[programme.id, programme]]);
	const view: ListView = { programme, asked, page, programmes, zone };
	const list = showList<Conversion>({
		asked,
		page,
		noun: "conversion",
		caption: `Conversions, ${ORDER_WORDS[`${asked.order.by}-${asked.order.direction}`]}`,
		namesZone: true,
		columns: await columnsOf(deps, view),
		none: noneOf(view),
		noMatch: noMatchOf(view),
		sums: totals === null ? null : totalsOf(totals),
		selection: totals === null ? null : selectionOf(c, view, totals),
	});
	return answerPage(c, {
		title: "Conversions",
		active: programme === null ? "all-conversions" : "conversions",
		status: asked.status,
		body: [
			ui.pageHeader({
				title: "Conversions",
				hint:
					programme === null
						? `Sales of all programmes. Reject sales that should not be paid. The shop gets a callback with the reason. Only the shop approves and reverses, because it knows what was paid and returned. ${sayDay(asked)}`
						: `All reported sales and their status. ${sayDay(asked)}`,
				actions: [
					programme !== null && may(c, "decide")
						? ui.linkButton({
								label: "Decide by CSV",
								href: withQuery(bulkPath(programme.public_id), { back: backPath(view) }),
							})
						: null,
					asked.isUnderstood
						? ui.linkButton({ label: "Export", href: asked.href({}, `${listPath(programme)}/export.csv`) })
						: null,
				],
			}),
			html`<div class="card"><h2 class="visually-hidden">The list</h2>${list}</div>`,
		],
	});
}

const ORDER_WORDS: Readonly<Record<`${ListedBy}-${"asc" | "desc"}`, string>> = {
	"recorded-desc": "the newest first",
	"recorded-asc": "the oldest first",
	"sale-desc": "the latest sale first",
	"sale-asc": "the earliest sale first",
	"decision-desc": "the latest decision first",
	"decision-asc": "the earliest decision first",
	"basket-desc": "the largest basket first",
	"basket-asc": "the smallest basket first",
};

/** Returns the sentence that says to which day of a conversion the filters From and To apply. */
function sayDay({ query: { dates } }: AskedConversions): string {
	switch (dates) {
		case undefined:
			return BY_DAY;
		case "sale":
			return "The day is when the sale was made.";
		case "decision":
			return "Only decided ones are listed, by the day of the last decision.";
		default:
			return dates satisfies never;
	}
}

/**
 * Returns the address of the list for a link back to it. Returns undefined for the unfiltered list of a programme,
 * because a link without an address leads there anyway.
 */
function backPath({ programme, asked }: ListView): string | undefined {
	const address = asked.href();
	return programme !== null && address === asked.clearHref ? undefined : address;
}

/** Returns the columns. The list of all programmes has no room for the network fee and for the time of the sale. */
async function columnsOf(
	{ store: { db } }: PageDeps,
	view: ListView,
): Promise<readonly ui.Column<Conversion>[]> {
	const { programme, asked, programmes, zone } = view;
	const isCredited = [...programmes.values()].some(({ credits_partners }) => credits_partners === 1);
	const amountColumn = (
		title: string,
		name: "basket_value" | "commission" | "network_fee",
	): ui.Column<Conversion> => ({
		title,
		isNumber: true,
		cell: (row) => ui.amount(row[name], row.currency),
	});
	return [
		{
			title: "Order",
			namesRow: true,
			cell: (row) => orderCell(row, programmes.get(row.programme_id)?.public_id ?? "", backPath(view)),
		},
		...(programme === null ? [programmeColumn(view)] : []),
		...(isCredited ? [await partnerColumn(view, db)] : []),
		{ title: "Status", cell: (row) => statusCell(row, zone) },
		{ ...amountColumn("Basket", "basket_value"), sorted: asked.sorted("basket") },
		amountColumn("Commission", "commission"),
		...(programme === null
			? []
			: [
					amountColumn("Fee", "network_fee"),
					{
						title: "Sold",
						sorted: asked.sorted("sale"),
						cell: (row: Conversion) => ui.timeTag(row.occurred_at_ms, zone),
					},
				]),
		asked.query.dates === "decision" ? decidedColumn(view) : recordedColumn(view),
	];
}

/** Returns the column with the programme, which links to its list with the same filters. */
function programmeColumn({ asked, programmes }: ListView): ui.Column<Conversion> {
	return {
		title: "Programme",
		cell: (row) => {
			const { public_id: publicId = "", name = "" } = programmes.get(row.programme_id) ?? {};
			const href = asked.href({}, conversionsPath(publicId));
			return html`<a class="cell-clip" href="${href}" title="Only ${name}">${name}</a>`;
		},
	};
}

async function partnerColumn({ asked, page }: ListView, db: Db): Promise<ui.Column<Conversion>> {
	const ids = page.rows.map(({ id }) => id);
	const credits = await findNamedCredits(db, ids);
	return {
		title: "Partner",
		cell: (row) => {
			const credit = credits.get(row.id);
			if (credit === undefined) return null;
			if (credit.partnership === null) return html`<span class="faint">nobody</span>`;
			const { partner_name: name, partner_public_id: partner } = credit.partnership;
			const href = asked.href({ partner, sort: undefined });
			return html`<a class="cell-clip" href="${href}" title="Only ${name}">${name}</a>`;
		},
	};
}

function recordedColumn({ programme, asked, zone }: ListView): ui.Column<Conversion> {
	return {
		title: "Recorded",
		sorted: asked.sorted("recorded"),
		cell: (row) => {
			const sold = html`<span class="secondary">sold ${ui.timeTag(row.occurred_at_ms, zone)}</span>`;
			return html`${ui.timeTag(row.created_at_ms, zone)}${programme === null ? sold : null}`;
		},
	};
}

function decidedColumn({ asked, zone }: ListView): ui.Column<Conversion> {
	return {
		title: "Decided",
		sorted: asked.sorted("decision"),
		cell: ({ decided_at_ms: decidedAtMs, created_at_ms: recordedAtMs }) =>
			html`${decidedAtMs === null ? null : ui.timeTag(decidedAtMs, zone)}<span class="secondary">recorded ${ui.timeTag(recordedAtMs, zone)}</span>`,
	};
}

function noneOf({ programme, asked }: ListView): ui.EmptyState {
	const start =
		programme === null
			? ""
			: html` Begin with an API key on <a href="${integrationPath(programme.public_id)}">Integration</a>.`;
	return {
		title: "No conversions yet",
		text: html`They appear here as soon as a shop's server reports them.${start} Tests are hidden.`,
		action: ui.linkButton({ label: "Show tests", href: asked.href({ test: "all" }) }),
	};
}

function noMatchOf({ asked }: ListView): ui.EmptyState {
	return {
		title: "No conversion matches",
		text: "Check the order ID, or remove a filter. Calls that were refused are in the inbound log on Integration.",
		action: ui.linkButton({ label: "Show all conversions", href: asked.clearHref }),
	};
}

/** Returns the form that decides about selected rows, or null if the reader may not decide. */
function selectionOf(
	c: WebContext,
	{ programme, asked, page, programmes }: ListView,
	totals: Totals,
): Selection<Conversion> | null {
	const moves = movesFor(programme === null ? "staff" : standingOf(c));
	if (moves.length === 0) return null;
	// The checkbox "all" is only on the list of one programme, because the job that the form creates belongs to one
	// programme.
	const hasMore = programme !== null && (totals.count > page.rows.length || !totals.isAll);
	return {
		action: `${listPath(programme)}/decide`,
		hidden: { back: asked.here() },
		name: "conversion",
		// The label names the order, because a screen reader may announce the checkbox without its row.
		box: (row) => {
			const shop = programme === null ? ` of ${programmes.get(row.programme_id)?.name ?? ""}` : "";
			return { value: row.public_id, label: `Select order ${showOrderId(row.order_id)}${shop}` };
		},
		below: {
			hint: "Select conversions, then choose what to do.",
			all: hasMore ? allBox(totals) : null,
			bar: decisionBar(moves),
		},
	};
}

/**
 * Returns the checkbox that applies a decision to every match. It also works without scripts, and then overrides the
 * checkboxes of the rows.
 */
function allBox({ isAll, count }: Totals): Html {
	const all = isAll ? `all ${ui.count(count)}` : "all";
	return html`<label class="check"><input type="checkbox" name="all" value="yes"><span>Select ${all} that match the filters</span></label>`;
}

/** Shows the number of conversions and their sums. */
function totalsOf({ count: found, isAll, tests, sums }: Totals): Html {
	const words = isAll ? ui.countOf(found, "conversion") : `More than ${ui.count(found)} conversions`;
	const testWords = tests === 0 ? null : `${ui.countOf(tests, "test")} not in the sum`;
	const hint = isAll ? testWords : "Narrow the filters to see the sums.";
	return html`<strong>${words}</strong>${sums.map(
		({ currency, basket, commissions }) =>
			html`<span>Basket ${ui.amount(basket, currency)}</span><span>Commission: ${commissions.map(
				([status, commission], at) =>
					html`${at === 0 ? null : ", "}${ui.amount(commission, currency)} ${STATUS_WORDS[status].toLowerCase()}`,
			)}</span>`,
	)}<span class="faint">${hint}</span>`;
}
