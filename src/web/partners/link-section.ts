// Links with what became of the clicks on them: for the partner, and for those who look after the partnership.

import { type ClickKind, type LandingHost, landingUrl } from "../../domain/click.ts";
import { DAY_MS } from "../../domain/time.ts";
import { findLandingHosts, sumClicks } from "../../store/queries/clicks.ts";
import { type NamedPartnership, type PartnerLink, pagePartnerLinks } from "../../store/queries/partners.ts";
import { cursorOf, pager, pagesOf } from "../filter-query.ts";
import type { WebContext, WebDeps } from "../page.ts";
import { PARTNER_DOCS_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const KINDS: readonly (readonly [kind: ClickKind, title: string])[] = [
	["click", "Clicks"],
	["crawler", "Crawlers"],
	["prefetch", "Previews, prefetches"],
	["embedded", "Embedded"],
	["target", "Foreign targets"],
	["ended", "After the end"],
];
const RECENT_DAYS = 30;
const PAGE_ROWS = 50;

/** A page of the links of these partnerships, at `path`. `hrefOf`: where a link's name leads, if anywhere. */
export async function linkSection(
	c: WebContext,
	deps: WebDeps,
	path: string,
	partnerships: readonly NamedPartnership[],
	hrefOf?: (code: string) => string,
): Promise<Html> {
	const { db } = deps.store;
	const ids = partnerships.map(({ id }) => id);
	const query = { before: c.req.query("before") };
	const list = { name: `links ${path}`, path, query, cursorName: "before", hash: "#links" };
	const page = await pagePartnerLinks(db, ids, { after: cursorOf(deps, list), limit: PAGE_ROWS });
	const recentDays = Math.min(RECENT_DAYS, deps.retentionDays);
	const linkIds = page.rows.map(({ id }) => id);
	const clicks = await sumClicks(db, linkIds, deps.clock.nowMs() - recentDays * DAY_MS);
	const ownOf = (link: PartnerLink) => partnerships.find(({ id }) => id === link.partnership_id);
	const programme: ui.Column<PartnerLink> = {
		title: "Programme",
		cell: (link) => ownOf(link)?.programme_name ?? "",
	};
	const programmeIds = partnerships.map(({ programme_id: id }) => id);
	const hosts = await findLandingHosts(db, programmeIds);
	const troubleOf = (link: PartnerLink): Content => {
		const { ended_at_ms: endedAtMs = null, programme_id: programmeId = 0 } = ownOf(link) ?? {};
		return [
			endedAtMs === null ? null : html`<div>${ui.badge("plain", "Partnership ended")}</div>`,
			goneBadge(link, hosts.get(programmeId) ?? []),
		];
	};
	const countColumn = ([kind, title]: (typeof KINDS)[number]): ui.Column<PartnerLink> => ({
		title,
		isNumber: true,
		cell: ({ id }) => {
			const sum = clicks.get(id)?.find((own) => own.kind === kind);
			return html`${ui.count(sum?.recent ?? 0)}<span class="secondary">${ui.count(sum?.ever ?? 0)}</span>`;
		},
	});
	const table = ui.dataTable<PartnerLink>({
		caption: "Links, the newest first",
		rows: page.rows,
		stacks: true,
		empty: ui.emptyState({
			title: "No link yet",
			text:
				hrefOf === undefined
					? "The partner makes links after signing in."
					: "Links to the shops of this partner's programmes are listed here.",
		}),
		columns: [
			{
				title: "Link",
				namesRow: true,
				cell: (link) => {
					const { code, name, target } = link;
					return html`${hrefOf === undefined ? name : html`<a class="break" href="${hrefOf(code)}">${name || code}</a>`}<div>${ui.copyable(`${deps.clickUrl}/c/${code}`, `the address of ${code}`)}</div><span class="secondary break">${target}</span>${troubleOf(link)}`;
				},
			},
			...(partnerships.length > 1 ? [programme] : []),
			{ title: "Made", cell: ({ created_at_ms: atMs }) => ui.dayTag(atMs) },
			...KINDS.map(countColumn),
		],
	});
	return ui.section({
		id: "links",
		title: "Links",
		hint: html`What became of clicks: the last ${recentDays} days, and below them everything so far. Only what counts as a click gets a click ID. <a href="${PARTNER_DOCS_PATH}#which-clicks-count">What each count means</a>`,
		body: [table, pager(pagesOf(deps, list, page))],
	});
}

/** See `frontPage` in domain/click. */
function goneBadge({ target }: PartnerLink, hosts: readonly LandingHost[]): Html | null {
	if (landingUrl(target, hosts) !== null) return null;
	const leads = hosts.length === 0 ? "Leads nowhere" : "Leads to the shop's front page";
	return html`<div>${ui.badge("warn", leads)}</div><span class="secondary break">${new URL(target).host} is no longer a landing host</span>`;
}
