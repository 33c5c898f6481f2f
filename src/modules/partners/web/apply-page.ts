// The page on which the people of a partner apply for a programme. The application has the partner's own name and site,
// and if it is accepted, this partner becomes a partner of the programme.

import { answerError } from "#core/web/error-page.ts";
import { declareForm, HIDDEN } from "#core/web/form.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	partnerOf,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "#core/web/page.ts";
import { earningsPath, openProgrammesPath, partnerApplyPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { applyAsPartner } from "../use-cases/applications.ts";
import { findOpenProgramme, offerOf } from "./join-page.ts";

const APPLY_FORM = declareForm({
	seenTerms: HIDDEN,
	about: { label: "How would you bring sales?", rows: 5, isRequired: true },
	acceptsTerms: { label: "I accept these terms.", isBox: true },
});

export async function showPartnerApplication(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = await findOpenProgramme(c, deps);
	if (programme === null) return answerError(c, "not_found");
	const partner = partnerOf(c);
	const { name, partner_terms: terms } = programme;
	const form = APPLY_FORM.show(c, {
		action: partnerApplyPath(partner.public_id, programme.public_id),
		values: { seenTerms: terms },
		rows: ({ fields }) =>
			html`${fields("seenTerms", "about")}${terms === "" ? null : html`<h2>Terms</h2><p class="typed">${terms}</p>${fields("acceptsTerms")}`}`,
		send: "Apply",
	});
	return answerPage(c, {
		title: `Apply for ${name}`,
		active: "open-programmes",
		body: [
			ui.pageHeader({
				title: `Apply for ${name}`,
				hint: `The programme's owner reads your application. ${partner.name} becomes its partner if the owner accepts.`,
			}),
			ui.section({ id: "offer", title: "Commission", body: ui.padded(offerOf(programme)) }),
			ui.section({
				id: "apply",
				title: "Your application",
				body: ui.padded(viewerOf(c).kind === "staff" ? staffHint(partner.public_id) : form),
			}),
		],
	});
}

function staffHint(partnerId: string): Html {
	return html`<p>Only the partner's own people apply. You can add the partner to a programme under <a href="${earningsPath(partnerId)}#add">Earnings</a>.</p>`;
}

export async function sendPartnerApplication(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = await findOpenProgramme(c, deps);
	if (programme === null) return answerError(c, "not_found");
	const typed = await APPLY_FORM.read(c);
	const { address } = c.get("visitor");
	const partner = partnerOf(c);
	const input = { ...typed, address };
	const applied = await applyAsPartner(deps, actorOf(c), partner.id, programme.public_id, input);
	if (!applied.ok) {
		// The terms may have changed since the form was opened, so they have to be accepted again.
		const again = { ...typed, seenTerms: programme.partner_terms, acceptsTerms: "" };
		return APPLY_FORM.refuse(c, applied, () => showPartnerApplication(c, deps), again);
	}
	const next = deps.mails.isOn
		? "You get a mail if it is accepted."
		: "If it is accepted, the programme is listed under Earnings.";
	return leadTo(
		c,
		openProgrammesPath(partner.public_id),
		`We sent your application to ${programme.name}. ${next}`,
	);
}
