// The page /programmes/:id/partners/settings, with a programme's settings for partners. Only staff can turn
// crediting on.

import { findProgramme } from "#core/store/queries/programmes.ts";
import { declareForm, HIDDEN } from "#core/web/form.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	programmeOf,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "#core/web/page.ts";
import { partnerSettingsPath, programmePartnersPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { html } from "#core/web/ui.ts";
import { sayHost } from "../domain/click.ts";
import { listLandingHosts } from "../store/landing-hosts.ts";
import { MAX_CLICK_DAYS, type PartnerTermsInput, savePartnerTerms } from "../use-cases/terms.ts";
import { waitingAddressesNote } from "./waiting-addresses.ts";

const SETTINGS_FORM = declareForm({
	/** Values with which the form was opened. Only fields that differ from them are saved. */
	shown: HIDDEN,
	creditsPartners: {
		label:
			"Credit sales to partners. A sale that no partner brought then has no commission and no network fee.",
		isBox: true,
	},
	clickDays: {
		label: "Days for which a click counts",
		inputMode: "numeric",
		isRequired: true,
		hint: `From 1 to ${MAX_CLICK_DAYS}. A sale in this time is credited to the last click before it.`,
	},
	clickParameter: {
		label: "Name of the click ID in addresses",
		isMono: true,
		isRequired: true,
		hint: "A link opens a page of your shop with ?rbclick=… added to its address. If you change the name, change it in your shop too.",
	},
	hosts: {
		label: "Shop addresses",
		rows: 4,
		isMono: true,
		hint: "Links may lead only to these, one a line, such as shop.example. An address that an owner enters waits until the network's staff confirm it. Only staff can enter *.shop.example, which also allows its subdomains.",
	},
	showsBaskets: {
		label:
			"Partners see the basket value of the sales they brought. Without this they can still work it out from the commission and the rate.",
		isBox: true,
	},
	takesApplications: { label: "Partners may apply on a public page", isBox: true },
	isListed: {
		label: "List the programme on the pages of all partners of the network, who can then apply",
		isBox: true,
	},
	terms: {
		label: "Terms for partners",
		rows: 10,
		hint: "Shown to everybody who applies. Each partnership keeps the text it began with.",
	},
});

export async function showPartnerSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const isStaff = viewerOf(c).kind === "staff";
	const hosts = await listLandingHosts(deps.store.db, programme.id);
	const on = (flag: 0 | 1) => (flag === 1 ? "on" : "");
	const values = {
		creditsPartners: on(programme.credits_partners),
		clickDays: String(programme.click_days),
		clickParameter: programme.click_parameter,
		hosts: hosts.map(sayHost).join("\n"),
		showsBaskets: on(programme.shows_baskets),
		takesApplications: on(programme.takes_applications),
		isListed: on(programme.is_listed),
		terms: programme.partner_terms,
	};
	const form = SETTINGS_FORM.show(c, {
		action: partnerSettingsPath(programme.public_id),
		values: { ...values, shown: String(new URLSearchParams(values)) },
		rows: ({ fields }) =>
			html`${fields("shown")}${isStaff ? fields("creditsPartners") : null}<div class="form-grid">${fields("clickDays", "clickParameter")}</div>${fields("hosts", "showsBaskets", "takesApplications", "isListed", "terms")}`,
		send: "Save",
	});
	const title = "Settings for partners";
	const back = html`<a href="${programmePartnersPath(programme.public_id)}">All partners</a>`;
	return answerPage(c, {
		title,
		active: "programme-partners",
		body: [
			ui.pageHeader({ title, hint: back }),
			await waitingAddressesNote(c, deps, programme),
			ui.section({ id: "settings", title, hint: "Changes apply from now on.", body: ui.padded(form) }),
		],
	});
}

/**
 * Saves the settings, and redirects to the Partners page, which says what is still missing and where partners
 * apply.
 */
export async function savePartnerSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const typed = await SETTINGS_FORM.read(c);
	const saved = await savePartnerTerms(deps, actorOf(c), programme.id, typed, {
		shown: readShown(typed.shown),
	});
	if (!saved.ok) {
		// If another person saved first, the form shows that person's values.
		const isOvertaken = saved.faults.some(({ code }) => code === "changed_meanwhile");
		const show = async () => {
			c.set("programme", (await findProgramme(deps.store.db, programme.public_id)) ?? programme);
			return showPartnerSettings(c, deps);
		};
		return SETTINGS_FORM.refuse(c, saved, show, isOvertaken ? {} : undefined);
	}
	return leadTo(c, programmePartnersPath(programme.public_id), "Saved.");
}

function readShown(text: string): PartnerTermsInput | undefined {
	if (text === "") return undefined;
	const shown = new URLSearchParams(text);
	const read = (name: keyof PartnerTermsInput) => shown.get(name) ?? "";
	return {
		creditsPartners: read("creditsPartners"),
		clickDays: read("clickDays"),
		clickParameter: read("clickParameter"),
		hosts: read("hosts"),
		showsBaskets: read("showsBaskets"),
		takesApplications: read("takesApplications"),
		isListed: read("isListed"),
		terms: read("terms"),
	};
}
