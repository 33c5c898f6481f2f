// /programmes/:id/partners/:id: one partner of a programme: what was agreed, their coupon codes and links. Owners and
// staff change the codes, and end or resume the partnership after a question.

import { MAX_COUPON_CODE_CHARACTERS } from "../../domain/credit.ts";
import { addCode, takeCode } from "../../partners/links.ts";
import { endPartnership, resumePartnership } from "../../partners/partners.ts";
import { sumClicks } from "../../store/queries/clicks.ts";
import * as partners from "../../store/queries/partners.ts";
import { answerError } from "../error-page.ts";
import { declareForm, readTextFields } from "../form.ts";
import type { WebContext, WebDeps } from "../page.ts";
import * as page from "../page.ts";
import { programmePartnerPath, programmePartnersPath } from "../paths.ts";
import type { Answer } from "../routes.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { clickCount, rateOf, recentHour, stateBadge } from "./programme-partners-page.ts";

type Partnership = partners.NamedPartnership;

const CODE_FORM = declareForm({
	code: {
		label: "New coupon code",
		maxLength: MAX_COUPON_CODE_CHARACTERS,
		autocomplete: "off",
		isRequired: true,
		hint: "A sale with this code is credited to this partner. Upper and lower case are the same.",
	},
});

/** For a partnership of the programme in the address; any other is not there. */
function withPartnership(
	answer: (c: WebContext, deps: WebDeps, own: Partnership) => Promise<Response>,
): Answer {
	return async (c, deps) => {
		const own = await partners.findPartnership(deps.store.db, c.req.param("partnershipId") ?? "");
		return own?.programme_id === page.programmeOf(c).id ? answer(c, deps, own) : answerError(c, "not_found");
	};
}

function pathOf(own: Partnership): string {
	return programmePartnerPath(own.programme_public_id, own.public_id);
}

export const showPartnership = withPartnership(answerPartnership);

async function answerPartnership(c: WebContext, deps: WebDeps, own: Partnership): Promise<Response> {
	const programme = page.programmeOf(c);
	const [label, tone] =
		own.ended_at_ms === null ? (["End partnership", "danger"] as const) : ["Resume partnership"];
	return page.answerPage(c, {
		title: own.partner_name,
		active: "programme-partners",
		body: [
			ui.pageHeader({
				title: own.partner_name,
				hint: html`<a href="${programmePartnersPath(programme.public_id)}">All partners</a>`,
				actions: page.may(c, "manage")
					? ui.linkButton({ label, ...(tone && { tone }), href: `${pathOf(own)}/change` })
					: null,
			}),
			ui.section({
				id: "agreed",
				title: "Partnership",
				body: ui.padded(
					ui.facts([
						["State", stateBadge(own) ?? ui.badge("good", "Active")],
						["Since", ui.dayTag(own.created_at_ms)],
						["Commission", rateOf(own, programme)],
						[
							"Terms they accepted",
							own.terms === "" ? "none" : html`<span class="typed">${own.terms}</span>`,
						],
					]),
				),
			}),
			await codesSection(c, deps, own),
			await linksSection(deps, own),
		],
	});
}

async function codesSection(c: WebContext, { store }: WebDeps, own: Partnership): Promise<Html> {
	const codes = await partners.listCodes(store.db, [own.id]);
	const mayManage = page.may(c, "manage");
	const action = `${pathOf(own)}/codes`;
	const remove = (code: string) =>
		ui.buttonForm({
			action: `${action}/remove`,
			hidden: { code },
			label: "Remove",
			isSmall: true,
			ariaLabel: `Remove the code ${code}`,
			confirm: `Remove the code ${code}? Sales with it are no longer credited to ${own.partner_name}.`,
		});
	return ui.section({
		id: "codes",
		title: "Coupon codes",
		body: ui.padded(
			codes.map(
				({ code }) =>
					html`<div class="row"><code class="break">${code}</code>${mayManage ? remove(code) : null}</div>`,
			),
			codes.length === 0 ? html`<p class="soft">This partner has no coupon code.</p>` : null,
			mayManage ? CODE_FORM.show(c, { action, send: "Add code" }) : null,
		),
	});
}

async function linksSection(deps: WebDeps, own: Partnership): Promise<Html> {
	const clicks = await sumClicks(deps.store.db, "link_id", [own.id], recentHour(deps));
	return ui.section({
		id: "links",
		title: "Links",
		hint: "Partners create their links themselves. In brackets: clicks of the last 30 days.",
		body: ui.dataTable<partners.PartnerLink>({
			caption: "Links, one per row",
			rows: await partners.listLinks(deps.store.db, [own.id]),
			stacks: true,
			empty: ui.emptyState({ title: "No links yet", text: "The partner creates links after signing in." }),
			columns: [
				{
					title: "Link",
					namesRow: true,
					cell: ({ code, name }) =>
						html`<code class="break">${deps.clickUrl}/c/${code}</code><span class="secondary break">${name}</span>`,
				},
				{ title: "Leads to", cell: ({ target }) => html`<span class="break">${target}</span>` },
				{ title: "Created", cell: ({ created_at_ms: atMs }) => ui.dayTag(atMs) },
				{ title: "Clicks", isNumber: true, cell: ({ id }) => clickCount(clicks.get(id)) },
			],
		}),
	});
}

export const addCouponCode = withPartnership(async (c, deps, own) => {
	const { code } = await CODE_FORM.read(c);
	const added = await addCode(deps, page.makerOf(c), own, code);
	if (!added.ok) return CODE_FORM.refuse(c, added, () => answerPartnership(c, deps, own));
	return page.leadTo(
		c,
		pathOf(own),
		`Sales with the code ${added.value} are credited to this partner from now on.`,
	);
});

export const removeCouponCode = withPartnership(async (c, deps, own) => {
	const { code } = await readTextFields(c, ["code"]);
	const taken = await takeCode(deps, page.makerOf(c), own.programme_id, code);
	if (!taken.ok) return page.tellRefusal(c, taken, () => answerPartnership(c, deps, own));
	return page.leadTo(c, pathOf(own), `The code ${code} was removed.`);
});

const WHAT_ENDS = [
	"The partner's links still lead to your shop, but without a click ID.",
	"The partner's coupon codes credit nobody.",
	"Sales from clicks made before are still credited to the partner.",
	"The partner keeps the commission on record. You can resume the partnership later.",
];
const WHAT_RESUMES = [
	"The partner's links bring a click ID again, and the coupon codes credit the partner again.",
	"Sales in between stay as they are.",
];

export const askToChange = withPartnership((c, _deps, own) => {
	const isEnd = own.ended_at_ms === null;
	const label = `${isEnd ? "End" : "Resume"} the partnership`;
	const title = `${label} with ${own.partner_name}?`;
	const cancel = ui.linkButton({ label: "Cancel", tone: "quiet", href: pathOf(own) });
	return page.answerPage(c, {
		title,
		active: "programme-partners",
		body: html`${ui.pageHeader({ title })}${ui.section({
			id: "change",
			title: "What happens",
			body: ui.padded(
				html`<ul class="points">${(isEnd ? WHAT_ENDS : WHAT_RESUMES).map((what) => html`<li>${what}</li>`)}</ul>`,
				ui.postForm({
					action: c.req.path,
					hidden: { to: isEnd ? "ended" : "active" },
					body: html`<div class="row">${ui.button({ label, tone: isEnd ? "danger" : "primary" })}${cancel}</div>`,
				}),
			),
		})}`,
	});
});

export const changeState = withPartnership(async (c, deps, own) => {
	const isEnd = (await readTextFields(c, ["to"])).to === "ended";
	// Somebody else was faster.
	if (isEnd === (own.ended_at_ms !== null))
		return page.leadTo(c, pathOf(own), "Nothing was changed.", "info");
	const changed = await (isEnd ? endPartnership : resumePartnership)(deps, page.makerOf(c), own);
	if (!changed.ok) return page.tellRefusal(c, changed, () => answerPartnership(c, deps, own));
	return page.leadTo(c, pathOf(own), `The partnership was ${isEnd ? "ended" : "resumed"}.`);
});
