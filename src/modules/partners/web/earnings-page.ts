// The start page of a partner. It shows the earnings in each programme, by the current status of the sales.
// On the same page, staff add the partner to programmes and end its partnerships.

import type { Result } from "#core/domain/fault.ts";
import type { SentLink } from "#core/people/invitations.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { declareForm, readTextFields } from "#core/web/form.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	type PageDeps,
	partnerOf,
	tellRefusal,
	viewerOf,
	type WebContext,
} from "#core/web/page.ts";
import {
	earningsPath,
	partnerConversionsPath,
	partnerDataPath,
	partnerLinksPath,
	programmePartnerPath,
	withQuery,
} from "#core/web/paths.ts";
import { invitationCard } from "#core/web/people/people-page.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { pagePartnerLinks } from "../store/partner-links.ts";
import { listPartnerships, type NamedPartnership } from "../store/partnerships.ts";
import { renamePartner } from "../use-cases/partners.ts";
import { addPartnership, endPartner } from "../use-cases/partnerships.ts";
import { findNamedProgramme } from "../use-cases/pick-named.ts";
import { archiveSection } from "./archive-page.ts";
import { breakdownPart } from "./breakdown-section.ts";
import { askDays, earnedSection, partnershipPath, partnershipTable } from "./earned-section.ts";
import { endSection } from "./end-section.ts";

const ADD_FORM = declareForm({ programme: { label: "Programme's name or ID", isRequired: true } });

const NAME_FORM = declareForm({
	name: { label: "Name", isRequired: true, hint: "Of the company or person, as programmes see it." },
	site: { label: "Site (optional)", inputMode: "url", placeholder: "https://" },
});

/**
 * Shows the page. `invited` is the one-time link of a partner that staff have just made. It is part of the
 * response, because it is shown only once.
 */
export async function showEarnings(c: WebContext, deps: PageDeps, invited?: SentLink): Promise<Response> {
	const partner = partnerOf(c);
	const { public_id: id, name, site } = partner;
	const path = earningsPath(id);
	const isErased = partner.erased_at_ms !== null;
	const rows = await listPartnerships(deps.store.db, "partner_id", [partner.id]);
	const isStaff = viewerOf(c).kind === "staff";
	const hint = "Your commission. Recorded sales wait for approval.";
	const about = html`Partner since ${ui.dayTag(partner.created_at_ms, c.get("network").timeZone)}${site === "" ? null : html` · <span class="break">${site}</span>`}`;
	const isActive = rows.some(({ ended_at_ms }) => ended_at_ms === null);
	const ids = rows.map((partnership) => partnership.id);
	const links = await pagePartnerLinks(deps.store.db, ids, { limit: 1 });
	const isNew = !isStaff && isActive && links.rows.length === 0;
	const first = html`<a href="${partnerLinksPath(id)}">Make your first link</a> to a shop. What it brings is listed here.`;
	const days = askDays(c, deps, path);
	const add = () => ADD_FORM.show(c, { action: `${path}/add`, send: "Add" });
	return answerPage(c, {
		title: "Earnings",
		active: "earnings",
		status: days.asked.status,
		body: [
			ui.pageHeader({
				title: "Earnings",
				hint: isStaff ? about : hint,
			}),
			isErased ? ui.message("info", "This partner was erased. Its account and its statements stay.") : null,
			invited === undefined ? null : invitationCard(invited, name),
			isNew ? ui.message("info", first) : null,
			await earnedSection(c, deps, days, {
				id: "programmes",
				title: "Programmes",
				owedTo: isStaff ? "the partner" : "you",
				show: async () => [
					await partnershipTable(deps, rows, days, {
						title: "Programme",
						empty: isErased
							? "It was in no programme."
							: isStaff
								? "Add the first programme below. Then the partner can make links to its shop."
								: "The network's staff add you to programmes. Then you can make links to their shops.",
						hrefOf: (partnership) => {
							if (isStaff) return partnershipPath(partnership);
							const { from, to } = days.asked.query;
							const query = { programme: partnership.programme_public_id, from, to };
							return withQuery(partnerConversionsPath(id), query);
						},
					}),
					rows.length === 0 ? null : await breakdownPart(deps, ids, days),
				],
			}),
			// An archived partner gets no partnership until staff resume it below.
			isStaff && partner.archived_at_ms === null
				? ui.section({ id: "add", title: "Add a programme", body: ui.padded(add()) })
				: null,
			rows.length === 0
				? null
				: ui.section({ id: "terms", title: "Terms", body: ui.padded(rows.map(termsOf)) }),
			isStaff && !isErased
				? ui.section({
						id: "name-and-site",
						title: "Name and site",
						body: ui.padded(
							NAME_FORM.show(c, { action: `${path}/name`, values: { name, site }, send: "Save" }),
						),
					})
				: null,
			isStaff && isActive ? endSection(`${path}/end`, { label: "End partner", confirm: sayEnd(name) }) : null,
			isStaff && !isErased ? archiveSection(partner) : null,
			isStaff ? personalDataSection(partner) : null,
		],
	});
}

function sayEnd(name: string): string {
	return `End all partnerships of ${name}? The partner keeps what was earned. Only you, the staff, can resume them.`;
}

function termsOf({ terms, created_at_ms: sinceMs, ...partnership }: NamedPartnership): Html {
	const days = partnership.programme_click_days;
	return ui.more(
		html`<span class="break">${partnership.programme_name}</span>`,
		html`<p>A sale is credited to the last click of the ${days === 1 ? "day" : `${days} days`} before it.</p>`,
		terms === ""
			? html`<p>The programme had no other terms on ${ui.dayTag(sinceMs)}.</p>`
			: html`<p>Its terms on ${ui.dayTag(sinceMs)}:</p><p class="typed">${terms}</p>`,
	);
}

export async function addProgramme(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const search = (await ADD_FORM.read(c)).programme.trim();
	const chosen = await findNamedProgramme(deps.store.db, search);
	const refuse = (refused: Result<unknown> & { ok: false }) =>
		ADD_FORM.refuse(c, refused, () => showEarnings(c, deps));
	if (!chosen.ok) return refuse(chosen);
	const programme = chosen.value;
	const added = await addPartnership(deps, actorOf(c), programme.id, partner);
	if (!added.ok) return refuse(added);
	const path = programmePartnerPath(programme.public_id, added.value.public_id);
	const next = "If you agreed a special rate or coupon codes, enter them below.";
	return leadTo(c, path, `${partner.name} is now a partner of ${programme.name}. ${next}`);
}

export async function rename(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const renamed = await renamePartner(deps, actorOf(c), partner.id, await NAME_FORM.read(c));
	if (!renamed.ok) return NAME_FORM.refuse(c, renamed, () => showEarnings(c, deps));
	return leadTo(c, earningsPath(partner.public_id), "Saved.");
}

export async function endAllPartnerships(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const { clicks } = await readTextFields(c, ["clicks"]);
	const ended = await endPartner(deps, actorOf(c), partner.id, clicks !== "");
	if (!ended.ok) return tellRefusal(c, ended, () => showEarnings(c, deps));
	return leadTo(c, earningsPath(partner.public_id), `All partnerships of ${partner.name} have ended.`);
}

/** Returns the section of the partner's page that leads staff to its personal data. */
function personalDataSection({ public_id: id }: Partner): Html {
	return ui.section({
		id: "personal-data",
		title: "Personal data",
		hint: "For a request for access, or a request to be erased.",
		body: ui.padded(
			html`<div class="row">${ui.linkButton({ label: "Export or erase", href: partnerDataPath(id) })}</div>`,
		),
	});
}
