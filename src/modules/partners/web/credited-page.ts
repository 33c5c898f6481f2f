// A partner's conversions, as a list and as a CSV file. They are read with store/credited.ts, which
// never returns order IDs.

import { CSV_BATCH_ROWS, type CsvColumns, csvFile } from "#core/conversions/csv-file.ts";
import { dayIn } from "#core/domain/zone-day.ts";
import { ask } from "#core/web/ask.ts";
import { STATUS_WORDS, statusBadge, titleCase } from "#core/web/conversion-ui.ts";
import { answerCsv, csvFormFor } from "#core/web/conversions/csv-answer.ts";
import { choice, day, spanOfDays } from "#core/web/filters.ts";
import { readRows, showList } from "#core/web/list.ts";
import { answerPage, type PageDeps, partnerOf, viewerOf, type WebContext } from "#core/web/page.ts";
import { partnerConversionsPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import type { CreditWord } from "../domain/credit.ts";
import {
	type CreditedConversion,
	type CreditedFilter,
	listCredited,
	readAllCredited,
} from "../store/credited.ts";
import { listPartnerships } from "../store/partnerships.ts";
import { EARNED_STATUSES } from "./earned-section.ts";

const CREDITED_BY: Readonly<Partial<Record<CreditWord, string>>> = {
	CODE: "Coupon code",
	CLICK: "Click",
	ASSIGNED: "Assigned by the network",
};

/** Reads the filters in the address and the partner's programmes. */
async function askCredited(c: WebContext, { store }: PageDeps) {
	const partner = partnerOf(c);
	const all = await listPartnerships(store.db, "partner_id", [partner.id]);
	const nameOf = new Map(
		all.map((partnership) => [partnership.programme_public_id, partnership.programme_name]),
	);
	const asked = ask(c, {
		path: partnerConversionsPath(partner.public_id),
		filters: {
			programme: choice("Programme", "All", [...nameOf.keys()], (id) => nameOf.get(id) ?? id),
			status: choice("Status", "Any", EARNED_STATUSES, (status) => STATUS_WORDS[status]),
			dates: choice("Dates", "Sold", ["decision"], () => "Decided"),
			from: day("From"),
			to: day("Until"),
		},
	});
	const { programme, status, dates } = asked.query;
	const { fromMs, beforeMs } = spanOfDays(asked.query, c.get("network").timeZone);
	const filter: CreditedFilter = {
		partnerships: all.filter(
			(partnership) => programme === undefined || partnership.programme_public_id === programme,
		),
		status,
		...(dates === undefined
			? { soldFromMs: fromMs, soldBeforeMs: beforeMs }
			: { decidedFromMs: fromMs ?? 0, decidedBeforeMs: beforeMs }),
	};
	return { asked, filter };
}

export async function showCredited(c: WebContext, deps: PageDeps): Promise<Response> {
	const isStaff = viewerOf(c).kind === "staff";
	const { asked, filter } = await askCredited(c, deps);
	const page = await readRows(deps, asked, `conversions of partner:${partnerOf(c).id}`, (at) =>
		listCredited(deps.store.reader, filter, at),
	);
	const list = showList<CreditedConversion>({
		asked,
		page,
		noun: "conversion",
		caption: "Conversions, the latest sale first",
		namesZone: true,
		columns: columnsIn(c.get("network").timeZone),
		none: {
			title: "No conversions here",
			text: `A sale appears here when a shop reports it with ${isStaff ? "the partner's" : "your"} click ID or coupon code.`,
		},
	});
	const exportPath = `${partnerConversionsPath(partnerOf(c).public_id)}/export.csv`;
	return answerPage(c, {
		title: "Conversions",
		active: "partner-conversions",
		status: asked.status,
		body: [
			ui.pageHeader({
				title: "Conversions",
				hint: `The sales that are credited to ${isStaff ? "this partner" : "you"}, the latest first.`,
				actions: asked.isUnderstood
					? ui.linkButton({ label: "Export", href: asked.href({}, exportPath) })
					: null,
			}),
			html`<div class="card"><h2 class="visually-hidden">The list</h2>${list}</div>`,
		],
	});
}

const columnsIn = (zone: string): readonly ui.Column<CreditedConversion>[] => [
	{
		title: "Conversion",
		namesRow: true,
		cell: (row) => html`<span class="mono break">${row.public_id}</span>`,
	},
	{
		title: "Programme",
		cell: ({ programme_name: name }) => html`<span class="cell-clip" title="${name}">${name}</span>`,
	},
	{ title: "Status", cell: (row) => decisionCell(row, zone) },
	{
		title: "Commission",
		isNumber: true,
		cell: ({ commission, basket_value: basket, currency }) =>
			html`${ui.amount(commission, currency)}${basket === null ? null : html`<span class="secondary">of ${ui.amount(basket, currency)}</span>`}`,
	},
	{ title: "Sold", cell: (row) => ui.timeTag(row.occurred_at_ms, zone) },
	{ title: "Credited by", cell: ({ word }) => CREDITED_BY[word] ?? word },
	{
		title: "Sub IDs",
		cell: ({ sub_1, sub_2, sub_3 }) =>
			[sub_1, sub_2, sub_3].map((text, index) =>
				text === "" ? null : html`<div class="break">s${index + 1}: ${text}</div>`,
			),
	},
];

/** Shows the status, with the day of the decision and the reason of a rejection or reversal. */
function decisionCell(
	{ status, decided_at_ms: decidedAtMs, reason }: CreditedConversion,
	zone: string,
): Html {
	const lines = [
		...(decidedAtMs === null ? [] : [ui.dayTag(decidedAtMs, zone)]),
		...(reason === null ? [] : [titleCase(reason)]),
	];
	return html`${statusBadge(status)}${lines.map((line) => html`<span class="secondary">${line}</span>`)}`;
}

const CSV_COLUMNS: CsvColumns<CreditedConversion> = [
	["conversionId", (row) => row.public_id],
	["programme", (row) => row.programme_name],
	["status", (row) => row.status],
	["commission", (row) => row.commission, "amount"],
	["basketValue", (row) => row.basket_value ?? "", "amount"],
	["currency", (row) => row.currency],
	["occurredAt", (row) => row.occurred_at_ms, "time"],
	["decidedAt", (row) => row.decided_at_ms, "time"],
	["reason", (row) => row.reason ?? ""],
	["creditedBy", (row) => row.word],
	["s1", (row) => row.sub_1],
	["s2", (row) => row.sub_2],
	["s3", (row) => row.sub_3],
];

/** Sends the list as a CSV file, with the same filters and all rows. */
export async function exportCredited(c: WebContext, deps: PageDeps): Promise<Response> {
	const { asked, filter } = await askCredited(c, deps);
	// An unfiltered file could be mistaken for the filtered one. So the page is shown instead, and says which
	// filter is invalid.
	if (!asked.isUnderstood) return showCredited(c, deps);
	const batches = readAllCredited(deps.store.reader, filter, CSV_BATCH_ROWS);
	const day = dayIn(deps.clock.nowMs(), c.get("network").timeZone);
	const name = `conversions-${partnerOf(c).public_id}-${day}.csv`;
	return answerCsv(c, deps, name, csvFile(CSV_COLUMNS, batches, csvFormFor(c)));
}
