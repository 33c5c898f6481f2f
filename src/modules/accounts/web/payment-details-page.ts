// The payment details of a partner, for its people and for staff. Staff also enter the VAT percentage and the note that
// the partner's statements show.

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
import { paymentDetailsPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { savePartnerVat } from "#modules/partners/use-cases/partners.ts";
import { COUNTRIES, nameOfCountry } from "../domain/country.ts";
import { groupIban, type PaymentDetails } from "../domain/payment-details.ts";
import { changePaymentDetails, readPaymentDetails } from "../use-cases/payment-details.ts";

const FORM = declareForm<keyof PaymentDetails | "currentPassword">({
	payee: { label: "Payee", hint: "Name of the account's holder.", isRequired: true, autocomplete: "off" },
	address: { label: "Address (optional)", hint: "Shown on statements.", rows: 4, autocomplete: "off" },
	country: { label: "Country (optional)", options: [], autocomplete: "off" },
	vatId: { label: "VAT ID (optional)", hint: "Shown on statements.", autocomplete: "off" },
	iban: {
		label: "IBAN",
		hint: "Required, unless you enter another account.",
		isMono: true,
		autocomplete: "off",
	},
	bic: { label: "BIC (optional)", isMono: true, autocomplete: "off" },
	account: {
		label: "Other account",
		hint: "Only if there is no IBAN. For example, an account number with the bank's name.",
		autocomplete: "off",
	},
	currentPassword: {
		label: "Current password",
		hint: "The password with which you sign in.",
		type: "password",
		autocomplete: "current-password",
		isRequired: true,
	},
});

const VAT_FORM = declareForm({
	vatPercent: { label: "VAT, %", inputMode: "decimal", hint: "Leave empty to show none." },
	vatNote: {
		label: "Note",
		hint: "Such as “Reverse charge: the recipient owes the VAT.”",
		rows: 2,
	},
});

export async function showPaymentDetails(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const path = paymentDetailsPath(partner.public_id);
	const isStaff = viewerOf(c).kind === "staff";
	const read = await readPaymentDetails(deps, actorOf(c), partner.id);
	if (!read.ok) return answerError(c, "not_found");
	const stored = read.value;
	const missing = isStaff
		? "This partner has entered no payment details yet."
		: "We cannot pay you yet, because there are no payment details. Enter them below.";
	const whoIsMailed = `Everybody who signs in for ${isStaff ? "the partner" : partner.name} gets a mail about each change.`;
	return answerPage(c, {
		title: "Payment details",
		active: "payment-details",
		body: [
			ui.pageHeader({
				title: "Payment details",
				hint: `Where ${isStaff ? "the partner is" : "you are"} paid.${deps.mails.isOn ? ` ${whoIsMailed}` : ""}`,
			}),
			stored === null ? ui.message("warn", missing) : null,
			ui.section({
				id: "details",
				title: "Payee and account",
				hint: "A change applies from the next statement on. Statements that were issued before keep the details of their day.",
				body: ui.padded(detailsForm(c, path, stored)),
			}),
			isStaff ? vatSection(c, `${path}/vat`) : null,
		],
	});
}

const NO_COUNTRY = { value: "", label: "Not given" };
const COUNTRY_OPTIONS = COUNTRIES.map(({ code, name }) => ({ value: code, label: name }));

/** Returns the countries to choose from. A stored code that is none of them stays in view until another one is chosen. */
function countryOptions(stored: string): readonly ui.Option[] {
	const isKnown = stored === "" || COUNTRY_OPTIONS.some(({ value }) => value === stored);
	const odd = isKnown ? [] : [{ value: stored, label: nameOfCountry(stored) }];
	return [NO_COUNTRY, ...odd, ...COUNTRY_OPTIONS];
}

function detailsForm(c: WebContext, path: string, stored: PaymentDetails | null): Html {
	const values = stored === null ? {} : { ...stored, iban: groupIban(stored.iban) };
	return FORM.show(c, {
		action: path,
		values,
		looks: { country: { options: countryOptions(stored?.country ?? "") } },
		rows: ({ fields }) => html`<div class="form-grid">${fields("payee", "vatId", "country")}</div>
	${fields("address")}
	<div class="form-grid">${fields("iban", "bic", "account")}</div>
	<div class="form-grid">${fields("currentPassword")}</div>`,
		send: "Save",
	});
}

function vatSection(c: WebContext, action: string): Html {
	const { vat_percent: vatPercent, vat_note: vatNote } = partnerOf(c);
	return ui.section({
		id: "vat",
		title: "VAT on statements",
		hint: "Statements show both as you enter them. Nothing is calculated from them.",
		body: ui.padded(
			VAT_FORM.show(c, {
				action,
				values: { vatPercent, vatNote },
				rows: ({ fields }) => html`<div class="form-grid">${fields("vatPercent")}</div>${fields("vatNote")}`,
				send: "Save VAT",
			}),
		),
	});
}

export async function saveDetails(c: WebContext, deps: PageDeps): Promise<Response> {
	const { id, public_id: publicId } = partnerOf(c);
	const typed = await FORM.read(c);
	const { email } = viewerOf(c);
	const saved = await changePaymentDetails(deps, actorOf(c), email, id, typed, c.get("visitor"));
	if (!saved.ok) return FORM.refuse(c, saved, () => showPaymentDetails(c, deps));
	return tellSaved(c, publicId, saved.value);
}

export async function saveVat(c: WebContext, deps: PageDeps): Promise<Response> {
	const { id, public_id: publicId } = partnerOf(c);
	const saved = await savePartnerVat(deps, actorOf(c), id, await VAT_FORM.read(c));
	if (!saved.ok) return VAT_FORM.refuse(c, saved, () => showPaymentDetails(c, deps));
	return tellSaved(c, publicId, saved.value);
}

function tellSaved(c: WebContext, publicId: string, isChanged: boolean): Response {
	const path = paymentDetailsPath(publicId);
	return isChanged ? leadTo(c, path, "Saved.") : leadTo(c, path, "Nothing was changed.", "info");
}
