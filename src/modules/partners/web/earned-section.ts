// Earnings in a period, which is by default the current month. They are shown for all partners, for one
// partner in all its programmes, or for all partners of one programme.

import type { Earned } from "#core/conversions/tally.ts";
import type { Status } from "#core/domain/conversion.ts";
import { divideAmount, formatMinor } from "#core/domain/money.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { monthDays, sayMonth } from "#core/domain/zone-day.ts";
import { ask } from "#core/web/ask.ts";
import { rateLines, STATUS_WORDS } from "#core/web/conversion-ui.ts";
import { digitsOf } from "#core/web/conversions/list-query.ts";
import { day, search, spanOfDays } from "#core/web/filters.ts";
import { filterForm, notUnderstood } from "#core/web/list.ts";
import { countedPart } from "#core/web/overview/totals-page.ts";
import { type PageDeps, viewerOf, type WebContext, type WebDeps } from "#core/web/page.ts";
import { programmePartnerPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { listCodes } from "../store/coupon-codes.ts";
import { agreedCommissions, type PartnershipTotal } from "../store/credits.ts";
import type { NamedPartnership } from "../store/partnerships.ts";
import { SUB_TOTAL_KEYS } from "../use-cases/sub-totals.ts";

const FILTERS = {
	search: search("Partner", "Name or ID"),
	from: day("Sold from"),
	to: day("Sold until"),
};

/** The period that a page shows, which is the present month by default. Its days are those of the network's time zone. */
export type AskedDays = ReturnType<typeof askDays>;

/** Reads the period from the address. `hasSearch` is true if the page also has a search for partners. */
export function askDays(c: WebContext, { clock }: Pick<WebDeps, "clock">, path: string, hasSearch = false) {
	const zone = c.get("network").timeZone;
	/**
	 * The key by which a partner's sales are grouped (breakdown-section.ts). Tabs choose the key, and the form
	 * for the days keeps it.
	 */
	const by = SUB_TOTAL_KEYS.find((key) => key === c.req.query("by"));
	const asked = ask(c, {
		path,
		filters: FILTERS,
		without: hasSearch ? [] : ["search"],
		defaults: monthDays(clock.nowMs(), zone, 0),
		fixed: { by },
	});
	const { fromMs = 0, beforeMs = Number.MAX_SAFE_INTEGER } = spanOfDays(asked.query, zone);
	return { asked, by, span: { fromMs, beforeMs }, zone };
}

/** Number of months that have a tab. People enter the days of any other period. */
const MONTHS = 6;

/** Shows the tabs and the form that choose the period, and below them the content. */
export async function earnedSection(
	c: WebContext,
	{ clock }: Pick<WebDeps, "clock">,
	{ asked, zone }: AskedDays,
	part: {
		id: string;
		title: string;
		/** Words for the recipient of approved commission, such as "you" on a partner's own page. */
		owedTo: "you" | "the partner";
		actions?: Content;
		show(): Promise<Content>;
	},
): Promise<Html> {
	const { id, title, owedTo, actions = null } = part;
	const months = Array.from({ length: MONTHS }, (_, back) => {
		const { from, to } = monthDays(clock.nowMs(), zone, back);
		const isActive = asked.query.from === from && asked.query.to === to;
		return { label: sayMonth(from.slice(0, "2026-10".length)), href: asked.href({ from, to }), isActive };
	});
	const shown = months.find(({ isActive }) => isActive)?.label ?? "The sums";
	// The owner of a programme does not see what the network pays its partners.
	const seesPayments = owedTo === "you" || viewerOf(c).kind === "staff";
	return ui.section({
		id,
		title,
		hint: `Sales count on the day on which they were sold (${zone}). ${shown} can still change, because sales are approved, rejected or returned later. Approved commission is owed to ${owedTo}.${seesPayments ? " What was paid is under Statements." : ""} Tests are left out.`,
		actions: asked.isUnderstood ? actions : null,
		body: [
			ui.tabs("Month", months),
			filterForm(asked, "Choose days"),
			asked.isUnderstood ? await part.show() : notUnderstood(asked),
		],
	});
}

/** Shows the earnings of the last background count. If that count is old, this starts a new one. */
export async function earnedPart(
	{ earnedTallies }: PageDeps,
	partnershipIds: readonly number[],
	{ asked, span }: AskedDays,
	show: (earned: Earned) => Content,
): Promise<Content> {
	const look = await earnedTallies.look({ ...span, partnershipIds });
	const note = (counted: Html) => ui.padded(html`<p class="small soft">${counted}</p>`);
	return countedPart(asked.here(), look, (earned, counted) => [show(earned), note(counted)], {
		isInside: true,
	});
}

/** Statuses that can have a commission. Approved comes first, because that commission is owed. */
export const EARNED_STATUSES = ["APPROVED", "RECORDED", "REJECTED", "REVERSED"] as const;

/** The number of sales of one status and currency, and their commission. */
type MoneyTotal = Pick<PartnershipTotal, "status" | "currency" | "count" | "commissionMinor">;

/** Returns one column of sums for each status. */
export function moneyColumns<Row>(totalsOf: (row: Row) => readonly MoneyTotal[]): readonly ui.Column<Row>[] {
	return EARNED_STATUSES.map((status) => ({
		title: STATUS_WORDS[status],
		isNumber: true,
		cell: (row) => sumOf(totalsOf(row), status),
	}));
}

/** Shows the commission of one status in each currency, with the number of sales. */
function sumOf(totals: readonly MoneyTotal[], status: Status): Content {
	const ofStatus = totals.filter((total) => total.status === status);
	if (ofStatus.length === 0) return html`<span class="faint">—</span>`;
	return [...Map.groupBy(ofStatus, ({ currency }) => currency)].map(([currency, parts]) => {
		const minor = parts.reduce((sum, { commissionMinor }) => sum + commissionMinor, 0n);
		const count = parts.reduce((sum, part) => sum + part.count, 0);
		return html`<div>${ui.amount(formatMinor(minor, digitsOf(currency)), currency)}<small class="secondary">${ui.countOf(count, "sale")}</small></div>`;
	});
}

/** Statuses whose commission counts as the earnings of a click. Rejected and reversed sales earn nothing. */
const EARNING_STATUSES: ReadonlySet<Status> = new Set(["APPROVED", "RECORDED"]);

/** Shows the approved and recorded commission of a hundred clicks on average, in each currency. */
function perHundredClicks(totals: readonly MoneyTotal[], clicks: number): Content {
	const earning = totals.filter(({ status }) => EARNING_STATUSES.has(status));
	if (clicks === 0 || earning.length === 0) return html`<span class="faint">—</span>`;
	return [...Map.groupBy(earning, ({ currency }) => currency)].map(([currency, parts]) => {
		const minor = parts.reduce((sum, { commissionMinor }) => sum + commissionMinor, 0n);
		return html`<div>${ui.amount(divideAmount(formatMinor(100n * minor, digitsOf(currency)), clicks), currency)}</div>`;
	});
}

/**
 * Lists the partnerships of one partner or of one programme. Each row has the commission and codes, and the clicks
 * and sales of the period.
 */
export async function partnershipTable(
	deps: PageDeps,
	rows: readonly NamedPartnership[],
	days: AskedDays,
	look: {
		title: "Partner" | "Programme";
		/** Text to show if there are no partnerships. */
		empty: Content;
		hrefOf?: (partnership: NamedPartnership) => string;
	},
): Promise<Content> {
	const ids = rows.map(({ id }) => id);
	const codes = Map.groupBy(await listCodes(deps.store.db, ids), (code) => code.partnership_id);
	const codesOf = (id: number) => (codes.get(id) ?? []).map(({ code }) => code).join(", ") || "—";
	const { title, hrefOf = partnershipPath } = look;
	const name = title === "Partner" ? "partner_name" : "programme_name";
	const keptFromMs = deps.clock.nowMs() - deps.retentionDays * DAY_MS;
	const isCut =
		days.span.fromMs < keptFromMs && rows.some((partnership) => partnership.created_at_ms < keptFromMs);
	const cut = ui.padded(
		html`<p class="small">Clicks before ${ui.dayTag(keptFromMs, days.zone)} are no longer on record.</p>`,
	);
	return earnedPart(deps, ids, days, ({ totals, clicks }) => {
		const totalsOf = ({ id }: NamedPartnership) => totals.filter((total) => total.partnershipId === id);
		const table = ui.dataTable<NamedPartnership>({
			caption: `${title}s, one per row`,
			rows,
			stacks: true,
			empty: ui.emptyState({ title: `No ${title.toLowerCase()} yet`, text: look.empty }),
			columns: [
				{
					title,
					namesRow: true,
					cell: (partnership) =>
						html`<a class="break" href="${hrefOf(partnership)}">${partnership[name]}</a> ${stateOf(partnership, days.zone)}<div class="secondary">${rateOf(partnership)}</div>`,
				},
				{ title: "Clicks", isNumber: true, cell: ({ id }) => ui.count(clicks.get(id) ?? 0) },
				...moneyColumns<NamedPartnership>(totalsOf),
				{
					title: "Per 100 clicks",
					isNumber: true,
					cell: (partnership) => perHundredClicks(totalsOf(partnership), clicks.get(partnership.id) ?? 0),
				},
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
		// A programme's partners are shown in pages. The sum of one page would be mistaken for the sum of all.
		return [title === "Partner" || rows.length < 2 ? null : ui.statStrip(sums), table, isCut ? cut : null];
	});
}

export function partnershipPath(partnership: NamedPartnership): string {
	return programmePartnerPath(partnership.programme_public_id, partnership.public_id);
}

/** Shows whether a partnership is active, with the day in the network's zone. */
export function stateOf(partnership: NamedPartnership, zone: string): Html {
	const { created_at_ms: sinceMs, ended_at_ms: endedAtMs } = partnership;
	if (endedAtMs === null)
		return html`<span class="secondary">Active since ${ui.dayTag(sinceMs, zone)}</span>`;
	const ended = partnership.ended_by_staff === 1 ? "Ended by the network" : "Ended";
	const clicks =
		partnership.clicks_ended_at_ms === null
			? null
			: html`<span class="secondary">Its clicks credit nobody any more</span>`;
	return html`${ui.badge("plain", ended)} <span class="secondary">${ui.dayTag(endedAtMs, zone)}</span>${clicks}`;
}

/** Shows the commission of a partnership in words. */
export function rateOf(partnership: NamedPartnership): Html {
	return rateLines(agreedCommissions(partnership), partnership.programme_currency);
}
