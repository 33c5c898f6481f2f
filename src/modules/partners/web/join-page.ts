// The public page /join/:programmeId, on which strangers apply as partners if the programme takes
// applications.

import { effectiveCommissions } from "#core/domain/rate.ts";
import { describeRates } from "#core/domain/rate-words.ts";
import { findProgramme, type Programme, ratesOf } from "#core/store/queries/programmes.ts";
import { answerError } from "#core/web/error-page.ts";
import { declareForm, HIDDEN } from "#core/web/form.ts";
import { answerPlainPage, type WebContext, type WebDeps } from "#core/web/page.ts";
import { joinPath } from "#core/web/paths.ts";
import { wideButton } from "#core/web/sign-in/sign-in-page.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import type { OpenProgramme } from "../store/applications.ts";
import { apply } from "../use-cases/applications.ts";

const JOIN_FORM = declareForm({
	seenTerms: HIDDEN,
	name: { label: "Your name or company", autocomplete: "organization", isRequired: true },
	email: { label: "Email", type: "email", autocomplete: "email", isRequired: true },
	site: {
		label: "Your site (optional)",
		inputMode: "url",
		autocomplete: "url",
		placeholder: "https://",
	},
	about: { label: "How would you bring sales?", rows: 5, isRequired: true },
	acceptsTerms: { label: "I accept these terms.", isBox: true },
});

/** Returns the programme in the address, or null if it does not take applications. */
export async function findOpenProgramme(c: WebContext, { store }: WebDeps): Promise<Programme | null> {
	const programme = await findProgramme(store.db, c.req.param("programmeId") ?? "");
	return programme?.takes_applications === 1 && programme.archived_at_ms === null ? programme : null;
}

export async function showJoin(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = await findOpenProgramme(c, deps);
	if (programme === null) return answerError(c, "not_found");
	const { name, partner_terms: terms } = programme;
	const form = JOIN_FORM.show(c, {
		action: joinPath(programme.public_id),
		values: { seenTerms: terms, ...applicantOf(c) },
		rows: ({ fields }) =>
			html`${fields("seenTerms", "name", "email", "site", "about")}${terms === "" ? null : html`<h2>Terms</h2><p class="typed">${terms}</p>${fields("acceptsTerms")}`}`,
		send: wideButton("Apply"),
	});
	return answerPlainPage(c, {
		title: `Become a partner of ${name}`,
		heading: "Become a partner",
		body: html`<p class="break">Bring sales to ${name} and earn a commission:</p>${offerOf(programme)}<p>Tell us who you are: the programme's owner reads your application.</p>${form}`,
	});
}

/**
 * Returns what the service knows about a partner's person who applies for another programme. If the person
 * signs in for several partners, only the email address is returned, because each of the partners could be
 * meant.
 */
function applicantOf(c: WebContext): { name?: string; email?: string; site?: string } {
	const viewer = c.get("viewer");
	if (viewer === null || viewer.partners.length === 0) return {};
	const [partner, ...others] = viewer.partners;
	const isOnly = partner !== undefined && others.length === 0;
	return { email: viewer.email, ...(isOnly ? { name: partner.name, site: partner.site } : {}) };
}

/** Lists the commission, and for how long a click counts. */
export function offerOf(programme: OpenProgramme): Html {
	const commissions = effectiveCommissions(ratesOf(programme), null);
	const days = ui.countOf(programme.click_days, "day");
	const lines = [
		...describeRates(commissions, programme.currency, ui.decimal),
		`A click on your link counts for ${days}.`,
	];
	return html`<ul class="points">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

/** Sends an application. The response does not reveal whether the email address has an account. */
export async function sendApplication(c: WebContext, deps: WebDeps): Promise<Response> {
	const publicId = c.req.param("programmeId") ?? "";
	const typed = await JOIN_FORM.read(c);
	const { address } = c.get("visitor");
	const applied = await apply(deps, publicId, { ...typed, address });
	const programme = await findOpenProgramme(c, deps);
	if (programme === null) return answerError(c, "not_found");
	if (!applied.ok) {
		// The terms may have changed since the form was opened, so the applicant has to accept them again.
		const again = { ...typed, seenTerms: programme.partner_terms, acceptsTerms: "" };
		return JOIN_FORM.refuse(c, applied, () => showJoin(c, deps), again);
	}
	const next = deps.mails.isOn
		? "you get a mail that says how to sign in"
		: "the network gets in touch with you";
	return answerPlainPage(c, {
		title: `Become a partner of ${programme.name}`,
		heading: "Thank you",
		body: html`<p class="break">We sent your application to ${programme.name}. If it is accepted, ${next}, at <strong>${typed.email}</strong>.</p>`,
	});
}
