// /partners, for staff: who brings sales, with a search, and the form that invites another.

import { z } from "zod";
import { invitePartner } from "../../partners/partners.ts";
import type { SentLink } from "../../people/invitations.ts";
import { listPartners, type Partner } from "../../store/queries/partners.ts";
import { cursorOf, MAX_SEARCH_LENGTH, pager, pagesOf, readFilters, searchBar } from "../filter-query.ts";
import { declareForm } from "../form.ts";
import { answerPage, makerOf, type WebContext, type WebDeps } from "../page.ts";
import { PARTNER_TOTALS_PATH, PARTNERS_PATH, partnerPath } from "../paths.ts";
import { invitationCard } from "../people/people-page.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const PAGE_ROWS = 50;

const QUERY = z.object({
	search: z.string().trim().max(MAX_SEARCH_LENGTH).catch("").default(""),
	/** Where the page before ended; anything else begins at the beginning. */
	before: z.string().optional(),
});

const INVITE_FORM = declareForm({
	name: { label: "Name", isRequired: true, hint: "Of the company or person, as programmes see it." },
	site: { label: "Site (optional)", type: "url", placeholder: "https://" },
	email: { label: "Email", type: "email", autocomplete: "off", isRequired: true },
});

export async function invite(c: WebContext, deps: WebDeps): Promise<Response> {
	const invited = await invitePartner(deps, makerOf(c), await INVITE_FORM.read(c));
	if (!invited.ok) return INVITE_FORM.refuse(c, invited, () => showPartners(c, deps));
	return showPartners(c, deps, invited.value);
}

/** `invited`: its link is in the answer itself, shown this once. */
export async function showPartners(
	c: WebContext,
	deps: WebDeps,
	invited?: SentLink & { partner: Partner },
): Promise<Response> {
	const { db } = deps.store;
	const { search, before } = readFilters(QUERY, new URL(c.req.url).search).query;
	const query = { search: search === "" ? undefined : search, before };
	const list = { name: "partners", path: PARTNERS_PATH, query, cursorName: "before" };
	const after = cursorOf(deps, list);
	const page = await listPartners(db, { search, after, limit: PAGE_ROWS });
	const isWhole = search === "" && after === undefined;
	const mailed = deps.mails.isOn
		? "You can copy it, too."
		: "No mail can be sent from here: you hand it over.";
	const finder = searchBar({
		action: PARTNERS_PATH,
		label: "Find a partner",
		name: "search",
		value: search,
	});
	return answerPage(c, {
		title: "Partners",
		active: "partners",
		body: [
			ui.pageHeader({ title: "Partners", hint: "Who brings sales to your programmes." }),
			partnersTabs("partners"),
			invited === undefined
				? null
				: html`${invitationCard(invited, invited.partner.name)}${ui.message("info", html`Next, <a href="${partnerPath(invited.partner.public_id)}#add">choose a programme for ${invited.partner.name}</a>. Until then they have nothing to link to.`)}`,
			html`<div class="card"><h2 class="visually-hidden">The list</h2>${isWhole && page.rows.length === 0 ? null : finder}${table(
				page.rows,
				isWhole ? NONE_YET : NOT_FOUND,
			)}${pager(pagesOf(deps, list, page))}</div>`,
			ui.section({
				id: "invite",
				title: "Invite a partner",
				hint: `They get a link to choose a password. ${mailed}`,
				body: ui.padded(INVITE_FORM.show(c, { action: `${PARTNERS_PATH}/invite`, send: "Invite" })),
			}),
		],
	});
}

export function partnersTabs(active: "partners" | "totals"): Html {
	return ui.tabs("Partners", [
		{ label: "Partners", href: PARTNERS_PATH, isActive: active === "partners" },
		{ label: "Totals", href: PARTNER_TOTALS_PATH, isActive: active === "totals" },
	]);
}

const NONE_YET = ui.emptyState({
	isAlone: true,
	title: "No partner yet",
	text: "Invite the first one below. Then add the programmes that the partner brings sales to. A programme credits partners once you turn it on in its settings.",
});

const NOT_FOUND = ui.emptyState({
	isAlone: true,
	title: "No partner found",
	text: "Search for part of the name, or for the whole ID (ptn_…).",
	action: ui.linkButton({ label: "Show all", href: PARTNERS_PATH }),
});

function table(rows: readonly Partner[], empty: Content): Html {
	return ui.dataTable<Partner>({
		caption: "Partners, the newest first",
		rows,
		stacks: true,
		empty,
		columns: [
			{
				title: "Partner",
				namesRow: true,
				cell: ({ public_id, name, site }) =>
					html`<a class="break" href="${partnerPath(public_id)}">${name}</a><span class="secondary break">${site}</span>`,
			},
			{ title: "State", cell: stateBadge },
			{ title: "Since", cell: ({ created_at_ms }) => ui.dayTag(created_at_ms) },
		],
	});
}

/** Of a partner, or of a partnership. */
export function stateBadge({ ended_at_ms: endedAtMs }: { ended_at_ms: number | null }): Html {
	if (endedAtMs === null) return ui.badge("good", "Active");
	return html`${ui.badge("plain", "Ended")}<span class="secondary">${ui.dayTag(endedAtMs)}</span>`;
}
