// The terms of a programme as a form: what was typed stays, and every mistake stands at its field.

import { html } from "hono/html";
import { z } from "zod";
import { shortenRate, type TermsInput } from "../../accounts/programme-terms.ts";
import type { Fault } from "../../domain/fault.ts";
import { checkbox, textField } from "../components/forms.ts";
import type { Html } from "../html.ts";

/** As typed; whether it makes sense is the use case's to say. */
export const TERMS_FORM = z.object({
	name: z.string().default(""),
	commissionRate: z.string().trim().default(""),
	feeRate: z.string().trim().default(""),
	approvalDays: z.string().trim().default(""),
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
		parksPixels: form.parksPixels !== undefined,
		parkedDays: readDays(form.parkedDays),
	};
}

/** Not a number for anything but digits, which the use case refuses with the right words. */
export function readDays(text: string): number {
	return /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
}

export function writeTerms(terms: TermsInput & { parkedDays: number }): TermsForm {
	return {
		name: terms.name,
		commissionRate: shortenRate(terms.commissionRate),
		feeRate: shortenRate(terms.feeRate),
		approvalDays: String(terms.approvalDays),
		parksPixels: terms.parksPixels ? "on" : undefined,
		parkedDays: String(terms.parkedDays),
	};
}

export type FieldErrors = ReadonlyMap<string, string>;

export function errorsByField(faults: readonly Fault[]): FieldErrors {
	return new Map(faults.map(({ field, detail }) => [field ?? "", capitalise(detail)]));
}

/** Some sentences begin with the field's name in the API; here it stands alone below its field. */
function capitalise(sentence: string): string {
	return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
}

export function nameField(form: TermsForm, errors: FieldErrors): Html {
	return textField({
		name: "name",
		label: "Name",
		value: form.name,
		error: errors.get("name"),
		isRequired: true,
		maxLength: 100,
		hint: "What the shop's people and your staff see everywhere.",
	});
}

export function approvalField(form: TermsForm, errors: FieldErrors): Html {
	return textField({
		name: "approvalDays",
		label: "Approval window, days",
		value: form.approvalDays,
		error: errors.get("approvalDays"),
		isRequired: true,
		inputMode: "numeric",
		hint: "A conversion that nobody rejected approves itself after so many days. 0 approves at once.",
	});
}

export function rateFields(form: TermsForm, errors: FieldErrors): Html {
	return html`${textField({
		name: "commissionRate",
		label: "Commission, %",
		value: form.commissionRate,
		error: errors.get("commission") ?? errors.get("commissionRate"),
		isRequired: true,
		inputMode: "decimal",
		hint: "Of the basket value, up to four decimals.",
	})}${textField({
		name: "feeRate",
		label: "Network fee, %",
		value: form.feeRate,
		error: errors.get("fee") ?? errors.get("feeRate"),
		isRequired: true,
		inputMode: "decimal",
		hint: "Of the basket value, up to four decimals.",
	})}`;
}

/** Said wherever parking is decided on, or has been. */
export const PIXEL_WORTH =
	"Anyone can call the pixel: its address is in the shop's page, so a pixel call by itself proves nothing.";

export function pixelFields(form: TermsForm, errors: FieldErrors): Html {
	return html`${checkbox({
		name: "parksPixels",
		label: "Park pixel conversions until the shop's server confirms them",
		isChecked: form.parksPixels !== undefined,
	})}<p class="small soft">${PIXEL_WORTH} Keep parking on (recommended): the conversion then counts only after the shop's server has confirmed the order. Without parking, every pixel call is recorded as a sale and approved automatically after the approval window, unless somebody rejects it first: review and approve pixel conversions by hand.</p><div class="form-grid">${textField(
		{
			name: "parkedDays",
			label: "Parked for at most, days",
			value: form.parkedDays,
			error: errors.get("parkedDays") ?? errors.get("parksPixels"),
			isRequired: true,
			inputMode: "numeric",
			hint: "A parked conversion that nobody confirms in this time expires.",
		},
	)}</div>`;
}
