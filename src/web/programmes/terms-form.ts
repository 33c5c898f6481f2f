// The terms of a programme as a form: what was typed stays, and every mistake stands at its field.

import { z } from "zod";
import { shortenRate, type Terms, type TermsInput } from "../../programmes/programme-terms.ts";
import { declareForm, type FilledForm } from "../form.ts";
import { checkbox, type Html, html } from "../ui.ts";

/** As typed; whether it makes sense is the use case's to say. */
export const TERMS_FORM = z.object({
	name: z.string().default(""),
	commissionRate: z.string().trim().default(""),
	feeRate: z.string().trim().default(""),
	approvalDays: z.string().trim().default(""),
	/** Only on staff's form. */
	approvalDaysMin: z.string().trim().optional(),
	approvalDaysMax: z.string().trim().optional(),
	parksPixels: z.string().optional(),
	parkedDays: z.string().trim().default(""),
});
export type TermsForm = z.infer<typeof TERMS_FORM>;

export function readTerms(form: TermsForm): TermsInput & { parkedDays: number } {
	return {
		name: form.name,
		commissionRate: form.commissionRate,
		feeRate: form.feeRate,
		approvalDays: readDays(form.approvalDays),
		...(form.approvalDaysMin === undefined ? {} : { approvalDaysMin: readDays(form.approvalDaysMin) }),
		...(form.approvalDaysMax === undefined ? {} : { approvalDaysMax: readDays(form.approvalDaysMax) }),
		parksPixels: form.parksPixels !== undefined,
		parkedDays: readDays(form.parkedDays),
	};
}

/** Not a number for anything but digits, which the use case refuses with the right words. */
export function readDays(text: string): number {
	return /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
}

export function writeTerms(terms: Terms): TermsForm {
	return {
		name: terms.name,
		commissionRate: shortenRate(terms.commissionRate),
		feeRate: shortenRate(terms.feeRate),
		approvalDays: String(terms.approvalDays),
		approvalDaysMin: String(terms.approvalDaysMin),
		approvalDaysMax: String(terms.approvalDaysMax),
		parksPixels: terms.parksPixels ? "on" : undefined,
		parkedDays: String(terms.parkedDays),
	};
}

const RATE = { inputMode: "decimal", hint: "Of the basket value.", isRequired: true } as const;

/** An owner may follow, and what is folded away is checked by the use case: a form can be sent without. */
export const TERM_FIELDS = declareForm({
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
	parkedDays: {
		label: "Parked for at most, days",
		inputMode: "numeric",
		hint: "A parked conversion that nobody confirms in this time expires.",
		alsoCalled: ["parksPixels"],
	},
});

/** Said wherever parking is decided on, or has been. */
export const PIXEL_WORTH =
	"Anyone can call the pixel: its address is in the shop's page, so a pixel call by itself proves nothing.";

export function pixelFields(form: TermsForm, { fields }: FilledForm<"parkedDays">): Html {
	return html`${checkbox({
		name: "parksPixels",
		label: "Park pixel conversions until the shop's server confirms them",
		isChecked: form.parksPixels !== undefined,
	})}<p class="small soft">${PIXEL_WORTH} Keep parking on (recommended): the conversion then counts only after the shop's server has confirmed the order. Without parking, every pixel call is recorded as a sale and approved automatically after the approval window, unless somebody rejects it first: review and approve pixel conversions by hand.</p><div class="form-grid">${fields("parkedDays")}</div>`;
}
