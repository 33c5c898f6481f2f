// The list of partner links with their numbers of clicks. It is for the partner and for people who manage the
// partnership.

import { DAY_MS } from "#core/domain/time.ts";
import { ask } from "#core/web/ask.ts";
import { readRows, showList } from "#core/web/list.ts";
import { viewerOf, type WebContext, type WebDeps } from "#core/web/page.ts";
import { PARTNER_GUIDE_PATH } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { type ClickKind, type LandingHost, landingUrl } from "../domain/click.ts";
import { sumClicks } from "../store/clicks.ts";
import { findLandingHosts } from "../store/landing-hosts.ts";
import { pagePartnerLinks } from "../store/partner-links.ts";
import type { NamedPartnership } from "../store/partnerships.ts";
import type { PartnerLink } from "../store/tables.ts";

/**
 * Kinds of visits that do not count as clicks, with their labels. The documentation explains each of them.
 */
const OTHER_VISITS: readonly (readonly [kind: Exclude<ClickKind, "click">, title: string])[] = [
	["crawler", "Crawlers"],
	["prefetch", "Loaded in advance"],
	["embedded", "Loaded as image or frame"],
	["target", "Other address not allowed"],
	["ended", "Partnership ended"],
];
const RECENT_DAYS = 30;

/**
 * Shows one page of the links of these partnerships. `hrefOf` returns the address to which the name of a link
 * leads.
 */
export async function linkSection(
	c: WebContext,
	deps: WebDeps,
	path: string,
	partnerships: readonly NamedPartnership[],
	hrefOf?: (code: string) => string,
): Promise<Html> {
	const { db } = deps.store;
	const isStaff = viewerOf(c).kind === "staff";
	const ids = partnerships.map(({ id }) => id);
	const asked = ask(c, { path, hash: "#links" });
	const page = await readRows(deps, asked, `links ${path}`, (at) => pagePartnerLinks(db, ids, at));
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
			removedHostBadge(link, hosts.get(programmeId) ?? []),
		];
	};
	const countOf = (linkId: number, wanted: ClickKind) => {
		const { recent = 0, ever = 0 } = clicks.get(linkId)?.find(({ kind }) => kind === wanted) ?? {};
		return { recent, ever };
	};
	const otherVisits = (linkId: number): Content => {
		const lines = OTHER_VISITS.flatMap(([kind, title]) => {
			const { recent, ever } = countOf(linkId, kind);
			if (ever === 0) return [];
			return html`<div>${title}: ${ui.count(recent)} <span class="faint">(${ui.count(ever)} in total)</span></div>`;
		});
		return lines.length === 0 ? html`<span class="faint">—</span>` : lines;
	};
	const list = showList<PartnerLink>({
		asked,
		page,
		noun: "link",
		caption: "Links, the newest first",
		none: {
			title: "No link yet",
			text:
				hrefOf === undefined
					? "The partner makes links after signing in."
					: isStaff
						? "Links to the shops of this partner's programmes are listed here."
						: "Your links to shops are listed here.",
		},
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
			{
				title: "Clicks",
				isNumber: true,
				cell: ({ id }) => {
					const { recent, ever } = countOf(id, "click");
					return html`${ui.count(recent)}<span class="secondary">${ui.count(ever)} in total</span>`;
				},
			},
			{ title: "Other visits", cell: ({ id }) => otherVisits(id) },
		],
	});
	return ui.section({
		id: "links",
		title: "Links",
		hint: html`Visits in the last ${recentDays} days, and in total. Only clicks get a click ID and can earn. <a href="${PARTNER_GUIDE_PATH}#what-counts">What each count means</a>`,
		body: list,
	});
}

/**
 * Warns if the shop has removed the host of the link's target. The link then leads elsewhere (see `frontPage`
 * in domain/click.ts).
 */
function removedHostBadge({ target }: PartnerLink, hosts: readonly LandingHost[]): Html | null {
	if (landingUrl(target, hosts) !== null) return null;
	const leads = hosts.length === 0 ? "Leads nowhere" : "Leads to the shop's front page";
	return html`<div>${ui.badge("warn", leads)}</div><span class="secondary break">${new URL(target).host} is no longer one of the shop's addresses</span>`;
}
