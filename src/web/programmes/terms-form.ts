// The terms of a programme as a form, for making one and for changing them.

import { shortenRate, type Terms, type TermsInput } from "../../programmes/programme-terms.ts";
import { declareForm, type FilledForm, HIDDEN } from "../form.ts";
import { type Content, html } from "../ui.ts";

/** As typed; whether it makes sense is the use case's to say. */
export type TypedTerms = Readonly<Partial<Record<keyof Terms, string>>>;

const RATE = { inputMode: "decimal", hint: "Of the basket value.", isRequired: true } as const;

/** An owner may follow, and what is folded away is checked by the use case: a form can be sent without. */
export const TERMS_FORM = declareForm({
	/** Chosen when the form was opened: sent twice, it makes one programme. */
	programmeId: HIDDEN,
	/** The terms as they were then: what differs from them is what somebody wants changed. */
	shown: HIDDEN,
	name: { label: "Name", maxLength: 100, isRequired: true },
	email: {
		label: "Owner's email (optional)",
		type: "email",
		autocomplete: "off",
		hint: "Of the shop: staff cannot own a programme. Empty: invite them later, under People.",
	},
	currency: { label: "Currency", maxLength: 3, hint: "It cannot be changed later.", isRequired: true },
	commissionRate: { label: "Commission, %", alsoCalled: ["commission"], ...RATE },
	feeRate: { label: "Network fee, %", alsoCalled: ["fee"], ...RATE },
	approvalDays: {
		label: "Approval window, days",
		inputMode: "numeric",
		hint: "Days until a conversion is approved automatically. 0 approves at once.",
	},
	approvalDaysMin: { label: "Shortest window owners may set, days", inputMode: "numeric" },
	approvalDaysMax: { label: "Longest window owners may set, days", inputMode: "numeric" },
	parksPixels: { label: "Park pixel conversions until the shop's server confirms them", isBox: true },
	parkedDays: {
		label: "Parked for at most, days",
		inputMode: "numeric",
		hint: "A parked conversion that nobody confirms in this time expires.",
		alsoCalled: ["parksPixels"],
	},
});

export function readTerms(typed: TypedTerms): TermsInput & { parkedDays: number } {
	const { name = "", commissionRate = "", feeRate = "", parksPixels = "" } = typed;
	const { approvalDaysMin = "", approvalDaysMax = "" } = typed;
	return {
		name,
		commissionRate: commissionRate.trim(),
		feeRate: feeRate.trim(),
		approvalDays: readDays(typed.approvalDays),
		...(approvalDaysMin === "" ? {} : { approvalDaysMin: readDays(approvalDaysMin) }),
		...(approvalDaysMax === "" ? {} : { approvalDaysMax: readDays(approvalDaysMax) }),
		parksPixels: parksPixels !== "",
		parkedDays: readDays(typed.parkedDays),
	};
}

/** Not a number for anything but digits, which the use case refuses with the right words. */
export function readDays(text = ""): number {
	return /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
}

export function writeTerms(terms: Terms): Record<keyof Terms, string> {
	return {
		name: terms.name,
		commissionRate: shortenRate(terms.commissionRate),
		feeRate: shortenRate(terms.feeRate),
		approvalDays: String(terms.approvalDays),
		approvalDaysMin: String(terms.approvalDaysMin),
		approvalDaysMax: String(terms.approvalDaysMax),
		parksPixels: terms.parksPixels ? "on" : "",
		parkedDays: String(terms.parkedDays),
	};
}

/** Said wherever parking is decided on, or has been. */
export const PIXEL_WORTH =
	"Anyone can call the pixel: its address is in the shop's page, so a pixel call by itself proves nothing.";

/** What staff agree on with the shop, besides the rates. */
export function windowAndPixelRows({ fields }: Pick<FilledForm<keyof Terms>, "fields">): Content {
	return html`<div class="form-grid">${fields("approvalDays", "approvalDaysMin", "approvalDaysMax")}</div>${fields("parksPixels")}<p class="small soft">${PIXEL_WORTH} Keep parking on (recommended): the conversion then counts only after the shop's server has confirmed the order. Without parking, every pixel call is recorded as a sale and approved automatically after the approval window, unless somebody rejects it first: review and approve pixel conversions by hand.</p><div class="form-grid">${fields("parkedDays")}</div>`;
}
