// The terms of a programme as a form: what was typed stays, and every mistake stands at its field.

import { html } from "hono/html";
import { z } from "zod";
import { shortenRate, type Terms, type TermsInput } from "../../accounts/programme-terms.ts";
import type { Fault } from "../../domain/fault.ts";
import { checkbox, textField } from "../components/forms.ts";
import type { Html } from "../html.ts";

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

export type FieldErrors = ReadonlyMap<string, string>;

/** As the use cases call them, where a form's field has another name. */
const FIELD_OF = new Map([
	["commission", "commissionRate"],
	["fee", "feeRate"],
	["parksPixels", "parkedDays"],
]);

export function errorsByField(faults: readonly Fault[]): FieldErrors {
	return new Map(faults.map(({ field = "", detail }) => [FIELD_OF.get(field) ?? field, capitalise(detail)]));
}

/** Some sentences begin with the field's name in the API; here it stands alone below its field. */
function capitalise(sentence: string): string {
	return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
}

const RATE = { inputMode: "decimal", hint: "Of the basket value." } as const;
/** What a form can be sent without: an owner may follow, and what is folded away is checked by the use case. */
const OPTIONAL: ReadonlySet<string> = new Set([
	"email",
	"approvalDays",
	"approvalDaysMin",
	"approvalDaysMax",
	"parkedDays",
]);
const FIELDS = {
	name: { label: "Name", maxLength: 100 },
	email: {
		label: "Owner's email (optional)",
		type: "email",
		autocomplete: "off",
		hint: "Of the shop: staff cannot own a programme. Empty: invite them later, under People.",
	},
	currency: { label: "Currency", maxLength: 3, hint: "It cannot be changed later." },
	commissionRate: { label: "Commission, %", ...RATE },
	feeRate: { label: "Network fee, %", ...RATE },
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
	},
} as const;

export function termFields<Name extends keyof typeof FIELDS>(
	names: readonly Name[],
	form: Readonly<Partial<Record<Name, string | undefined>>>,
	errors: FieldErrors,
	/** Instead of the field's own. */
	hints: Readonly<Partial<Record<string, string>>> = {},
): readonly Html[] {
	return names.map((name) => {
		const hint = hints[name];
		return textField({
			name,
			value: form[name] ?? "",
			error: errors.get(name),
			isRequired: !OPTIONAL.has(name),
			...FIELDS[name],
			...(hint === undefined ? {} : { hint }),
		});
	});
}

/** Said wherever parking is decided on, or has been. */
export const PIXEL_WORTH =
	"Anyone can call the pixel: its address is in the shop's page, so a pixel call by itself proves nothing.";

export function pixelFields(form: TermsForm, errors: FieldErrors): Html {
	return html`${checkbox({
		name: "parksPixels",
		label: "Park pixel conversions until the shop's server confirms them",
		isChecked: form.parksPixels !== undefined,
	})}<p class="small soft">${PIXEL_WORTH} Keep parking on (recommended): the conversion then counts only after the shop's server has confirmed the order. Without parking, every pixel call is recorded as a sale and approved automatically after the approval window, unless somebody rejects it first: review and approve pixel conversions by hand.</p><div class="form-grid">${termFields(["parkedDays"], form, errors)}</div>`;
}
