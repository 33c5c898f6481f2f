// What partners earned in some days, which the address names: the present month unless told. Of all partners, of one in
// all its programmes, or of one programme's.

import * as z from "zod";
import type { Earned } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { formatMinor, shortenRate } from "../../domain/money.ts";
import { DAY_MS } from "../../domain/time.ts";
import { dayEndMs, dayStartMs, monthDays } from "../../domain/zone-day.ts";
import type { PartnershipTotal } from "../../store/queries/credits.ts";
import { listCodes, type NamedPartnership } from "../../store/queries/partners.ts";
import { STATUS_WORDS } from "../conversion-ui.ts";
import { day, digitsOf, ZONE } from "../conversions/list-query.ts";
import { declareFilters, filterBar, MAX_SEARCH_LENGTH, notUnderstood, UNSEEN } from "../filter-query.ts";
import { countedPart } from "../overview/totals-page.ts";
import { type PageDeps, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { programmePartnerPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const FILTERS = declareFilters({
	search: {
		schema: z.string().trim().max(MAX_SEARCH_LENGTH, { error: "Enter a shorter part of the name." }),
		field: (own) => ui.textField({ ...own, label: "Partner", type: "search", placeholder: "Name or ID" }),
	},
	from: day("Sold from"),
	to: day("Sold until"),
	zone: ZONE,
	/** Where the page before ended. */
	before: UNSEEN,
});

/** Days as the account or the address counts them. */
export function readDays(c: WebContext, { clock }: Pick<WebDeps, "clock">) {
	const read = FILTERS.read(new URL(c.req.url).search);
	const { search, before, from, to, zone = viewerOf(c).zone ?? "UTC" } = read.query;
	const days = (from ?? to) === undefined ? monthDays(clock.nowMs(), zone, 0) : { from, to };
	const isTurned = from !== undefined && to !== undefined && to < from;
	const problems = isTurned ? { ...read.problems, to: "The last day is before the first." } : read.problems;
	return {
		isUnderstood: Object.keys(problems).length === 0,
		filters: { ...read, problems, typed: { ...days, zone, ...read.typed } as Record<string, string> },
		query: { search, ...days, zone, before },
		span: {
			fromMs: days.from === undefined ? 0 : dayStartMs(days.from, zone),
			beforeMs: days.to === undefined ? Number.MAX_SAFE_INTEGER : dayEndMs(days.to, zone),
		},
	};
}

export interface AskedDays extends ReturnType<typeof readDays> {
	/** The page with these days. */
	href: string;
}

/** With a tab each; others are typed. */
const MONTHS = 6;

export async function earnedSection(
	c: WebContext,
	deps: WebDeps,
	part: {
		id: string;
		title: string;
		path: string;
		/** A partner can be looked for. */
		hasSearch?: boolean;
		actions?: Content;
		show(asked: AskedDays): Promise<Content>;
	},
): Promise<Html> {
	const { id, title, path, hasSearch = false, actions = null } = part;
	const read = readDays(c, deps);
	const { filters, query, isUnderstood } = read;
	const asked = { ...read, href: withQuery(path, query) };
	if (!isUnderstood) c.status(422);
	const months = Array.from({ length: MONTHS }, (_, back) => {
		const { from, to } = monthDays(deps.clock.nowMs(), query.zone, back);
		const href = withQuery(path, { ...query, from, to, before: undefined });
		const label = ["This month", "Last month"][back] ?? from.slice(0, "2026-03".length);
		return { label, href, isActive: query.from === from && query.to === to };
	});
	return ui.section({
		id,
		title,
		hint: `Commission by the day of the sale (${query.zone}), with the status that sales have now: a sale counts in the month in which it was sold, also when it is approved later. Approved commission is owed to the partner; payments are not recorded here. Tests are left out.`,
		actions: isUnderstood ? actions : null,
		body: [
			ui.tabs("Month", months),
			filterBar({
				action: path,
				label: "Choose days",
				fields: FILTERS.fields(filters, [
					...(hasSearch ? (["search"] as const) : []),
					...(["from", "to", "zone"] as const),
				]),
			}),
			isUnderstood ? await part.show(asked) : notUnderstood("Correct the field marked above."),
		],
	});
}

/** As of the last count, which is made anew when somebody looks. */
export async function earnedPart(
	{ earnedTallies }: PageDeps,
	partnershipIds: readonly number[],
	{ span, href }: AskedDays,
	show: (earned: Earned) => Content,
): Promise<Content> {
	const look = await earnedTallies.look({ ...span, partnershipIds });
	const note = (counted: Html) => ui.padded(html`<p class="small soft">${counted}</p>`);
	return countedPart(href, look, (earned, counted) => [show(earned), note(counted)], true);
}

/** What is owed comes first. What only a pixel reported is credited to nobody. */
export const EARNED_STATUSES = ["APPROVED", "RECORDED", "REJECTED", "REVERSED"] as const;

/** A column for each status. */
export function moneyColumns<Row>(
	totalsOf: (row: Row) => readonly PartnershipTotal[],
): readonly ui.Column<Row>[] {
	return EARNED_STATUSES.map((status) => ({
		title: STATUS_WORDS[status],
		isNumber: true,
		cell: (row) => sumOf(totalsOf(row), status),
	}));
}

/** The commission in each currency, and of how many sales. */
function sumOf(totals: readonly PartnershipTotal[], status: Status): Content {
	const own = totals.filter((total) => total.status === status);
	if (own.length === 0) return html`<span class="faint">—</span>`;
	return [...Map.groupBy(own, ({ currency }) => currency)].map(([currency, parts]) => {
		const minor = parts.reduce((sum, { commissionMinor }) => sum + commissionMinor, 0n);
		const count = parts.reduce((sum, part) => sum + part.count, 0);
		return html`<div>${ui.amount(formatMinor(minor, digitsOf(currency)), currency)}<small class="secondary">${ui.countOf(count, "sale")}</small></div>`;
	});
}

/** Of one partner or of one programme: the other side's name, what was agreed, and what it brought in these days. */
export async function partnershipTable(
	deps: PageDeps,
	rows: readonly NamedPartnership[],
	asked: AskedDays,
	look: {
		title: "Partner" | "Programme";
		/** Where there is none. */
		empty: Content;
		hrefOf?: (own: NamedPartnership) => string;
	},
): Promise<Content> {
	const ids = rows.map(({ id }) => id);
	const codes = Map.groupBy(await listCodes(deps.store.db, ids), (code) => code.partnership_id);
	const codesOf = (id: number) => (codes.get(id) ?? []).map(({ code }) => code).join(", ") || "—";
	const { title, hrefOf = partnershipPath } = look;
	const name = title === "Partner" ? "partner_name" : "programme_name";
	const keptFromMs = deps.clock.nowMs() - deps.retentionDays * DAY_MS;
	const isCut = asked.span.fromMs < keptFromMs && rows.some((own) => own.created_at_ms < keptFromMs);
	const cut = ui.padded(
		html`<p class="small">Clicks before ${ui.dayTag(keptFromMs)} are no longer on record.</p>`,
	);
	return earnedPart(deps, ids, asked, ({ totals, clicks }) => {
		const table = ui.dataTable<NamedPartnership>({
			caption: `${title}s, one per row`,
			rows,
			stacks: true,
			empty: ui.emptyState({ title: `No ${title.toLowerCase()} yet`, text: look.empty }),
			columns: [
				{
					title,
					namesRow: true,
					cell: (own) => html`<a class="break" href="${hrefOf(own)}">${own[name]}</a> ${stateOf(own)}`,
				},
				{ title: "Rate", isNumber: true, cell: rateOf },
				{ title: "Clicks", isNumber: true, cell: ({ id }) => ui.count(clicks.get(id) ?? 0) },
				...moneyColumns<NamedPartnership>(({ id }) => totals.filter((total) => total.partnershipId === id)),
				{
					title: "Coupon codes",
					cell: ({ id }) => html`<span class="break">${codesOf(id)}</span>`,
				},
			],
		});
		const sums = EARNED_STATUSES.map((status) => ({
			label: STATUS_WORDS[status],
			value: sumOf(totals, status),
		}));
		// A programme's partners come in pages, of which the sum says nothing.
		return [title === "Partner" || rows.length < 2 ? null : ui.statStrip(sums), table, isCut ? cut : null];
	});
}

export function partnershipPath(own: NamedPartnership): string {
	return programmePartnerPath(own.programme_public_id, own.public_id);
}

export function stateOf(own: NamedPartnership): Html {
	const { created_at_ms: sinceMs, ended_at_ms: endedAtMs } = own;
	if (endedAtMs === null) return html`<span class="secondary">Active since ${ui.dayTag(sinceMs)}</span>`;
	const ended = own.ended_by_staff === 1 ? "Ended by the network" : "Ended";
	return html`${ui.badge("plain", ended)} <span class="secondary">${ui.dayTag(endedAtMs)}</span>`;
}

export function rateOf({ commission_rate: own, programme_rate: usual }: NamedPartnership): string {
	return `${shortenRate(own ?? usual)} %`;
}
