// The page with a partner's links. A person chooses a programme and a target to make a link, adds sub IDs to
// it, and sees all links in a list.

import { answerError } from "#core/web/error-page.ts";
import { declareForm } from "#core/web/form.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	type PageDeps,
	partnerOf,
	viewerOf,
	type WebContext,
} from "#core/web/page.ts";
import { partnerLinksPath, withQuery } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { sayHost } from "../domain/click.ts";
import { keptSubIds, MAX_SUB_ID_BYTES } from "../domain/click-token.ts";
import { findLandingHosts } from "../store/landing-hosts.ts";
import { findPartnerLink } from "../store/partner-links.ts";
import { listPartnerships, type NamedPartnership } from "../store/partnerships.ts";
import type { PartnerLink } from "../store/tables.ts";
import { makePartnerLink } from "../use-cases/partner-links.ts";
import { linkSection } from "./link-section.ts";

const FORM = declareForm({
	partnership: { label: "Programme", options: [], isRequired: true },
	target: {
		label: "Target address",
		inputMode: "url",
		hint: "The page of the shop that the link opens. Copy it from your browser.",
		isRequired: true,
	},
	name: { label: "Name (optional)", hint: "You, the shop and the network see it." },
	code: { label: "Own link code (optional)", hint: "Leave empty to get a short one.", isMono: true },
});

export async function makeOwnLink(c: WebContext, deps: PageDeps): Promise<Response> {
	const typed = await FORM.read(c);
	const partner = partnerOf(c);
	const owner = { partnerId: partner.id, partnershipId: typed.partnership };
	const created = await makePartnerLink(deps, actorOf(c), owner, typed);
	if (!created.ok && created.fault.code === "unknown_partner") return answerError(c, "not_found");
	if (!created.ok) return FORM.refuse(c, created, () => showLinks(c, deps));
	const { code: link } = created.value;
	const path = withQuery(partnerLinksPath(partner.public_id), { link });
	return leadTo(c, path, `The link ${link} is ready. Copy its address below.`);
}

export async function showLinks(c: WebContext, deps: PageDeps): Promise<Response> {
	const { db } = deps.store;
	const partner = partnerOf(c);
	const isStaff = viewerOf(c).kind === "staff";
	const path = partnerLinksPath(partner.public_id);
	const partnerships = await listPartnerships(db, "partner_id", [partner.id]);
	const { link: code } = c.req.query();
	const chosen = code === undefined ? undefined : await findPartnerLink(db, "code", code);
	const isOwn = partnerships.some(({ id }) => id === chosen?.partnership_id);
	if (code !== undefined && !isOwn) return answerError(c, "not_found");
	return answerPage(c, {
		title: "Links",
		active: "links",
		body: [
			ui.pageHeader({
				title: "Links",
				hint: `A link leads to a shop with a click ID, which credits ${isStaff ? "this partner" : "you"} with the sale.`,
			}),
			chosen === undefined ? null : addressSection(c, deps, path, chosen),
			await makeSection(c, deps, path, partnerships),
			await linkSection(c, deps, path, partnerships, (link) => withQuery(path, { link })),
		],
	});
}

const LEFT_OUT = "Left out: it has an @ or a character that cannot be seen, or does not fit.";

/** Shows the full address of one link. It includes the sub IDs in the query of this page. */
function addressSection(c: WebContext, { clickUrl }: PageDeps, path: string, link: PartnerLink): Html {
	const names = ["s1", "s2", "s3"] as const;
	const validSubIds = keptSubIds(names.map((name) => c.req.query(name)));
	const query = Object.fromEntries(names.map((name, index) => [name, validSubIds[index] || undefined]));
	const fields = names.map((name) => {
		const value = c.req.query(name) ?? "";
		const error = value === (query[name] ?? "") ? undefined : LEFT_OUT;
		return ui.textField({ name, label: `Sub ID ${name}`, value, error });
	});
	return ui.section({
		id: "address",
		title: link.name || `Link ${link.code}`,
		hint: `Sub IDs tell your placements apart and come back with each conversion. Together they have at most ${MAX_SUB_ID_BYTES} bytes, and no "@".`,
		body: html`${ui.padded(ui.copyable(withQuery(`${clickUrl}/c/${link.code}`, query), "the link's address"))}
	<form method="get" action="${path}" class="filter-bar"><input type="hidden" name="link" value="${link.code}">${fields}<div class="row">${ui.button({ label: "Add sub IDs" })}</div></form>`,
	});
}

function allEnded(isStaff: boolean): Html {
	const text = isStaff
		? "All partnerships have ended. The partner keeps what was earned. The links still lead to the shops, but new clicks earn nothing."
		: "All your partnerships have ended. You keep what you earned. Your links still lead to the shops, but new clicks earn nothing.";
	return ui.message("info", text);
}

async function makeSection(
	c: WebContext,
	{ store }: PageDeps,
	action: string,
	partnerships: readonly NamedPartnership[],
): Promise<Content> {
	const active = partnerships.filter(({ ended_at_ms }) => ended_at_ms === null);
	if (active.length === 0) {
		return partnerships.length === 0 ? null : allEnded(viewerOf(c).kind === "staff");
	}
	const programmeIds = active.map(({ programme_id }) => programme_id);
	const hosts = await findLandingHosts(store.db, programmeIds);
	const isReady = (partnership: NamedPartnership) =>
		partnership.programme_credits_partners === 1 && hosts.has(partnership.programme_id);
	const options = active
		.filter(isReady)
		.map(({ public_id: value, programme_name: name, programme_id: id }) => {
			const names = hosts.get(id)?.map(sayHost).join(", ");
			return { value, label: `${name} (${names})` };
		});
	const form = FORM.show(c, { action, looks: { partnership: { options } }, send: "Make link" });
	const others = active
		.filter((partnership) => !isReady(partnership))
		.map((partnership) => partnership.programme_name);
	const why = html`<p class="soft break">No links yet to ${others.join(", ")}, because the programme does not credit partners, or its shop's addresses are missing or not confirmed yet. Ask its owner.</p>`;
	const parts = [options.length === 0 ? null : form, others.length === 0 ? null : why];
	return ui.section({ id: "new", title: "New link", body: ui.padded(...parts) });
}
