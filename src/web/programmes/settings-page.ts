// /programmes/:id/settings: the terms, and for staff who did what here.

import { html } from "hono/html";
import { changeProgramme, termsOf } from "../../accounts/change-programme.ts";
import type { TermsInput } from "../../accounts/programme-terms.ts";
import type { Fault } from "../../domain/fault.ts";
import { listAuditOfProgramme } from "../../store/audit.ts";
import type { Programme } from "../../store/programmes.ts";
import { facts, message, padded, pageHeader, section } from "../components/blocks.ts";
import { button, postForm } from "../components/forms.ts";
import { copyable, dayTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext, WebDeps } from "../deps.ts";
import { setFlash } from "../flash.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { frameProgramme } from "../programme-frame.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import { auditSection } from "./audit-section.ts";
import {
	approvalField,
	errorsByField,
	type FieldErrors,
	nameField,
	pixelFields,
	rateFields,
	readDays,
	readTerms,
	shortenRate,
	TERMS_FORM,
	type TermsForm,
	writeTerms,
} from "./terms-form.ts";

const AUDIT_ROWS = 50;

export function showSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerSettings(c, deps, writeTerms(termsOf(programmeOf(c))), []);
}

export async function takeSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const viewer = viewerOf(c);
	const form = TERMS_FORM.parse(await c.req.parseBody());
	const changed = await changeProgramme(deps, viewer, programme, wantedBy(viewer.role, form));
	if (!changed.ok) return answerSettings(c, deps, form, changed.faults);
	if (changed.value.length === 0) setFlash(c, "info", "Nothing was changed.");
	else setFlash(c, "good", `Saved. It holds for new conversions. ${changed.value.join("; ")}.`);
	return c.redirect(`/programmes/${programme.public_id}/settings`, 303);
}

/** An owner's form has two fields; whatever else they send is put to the use case, which refuses it. */
function wantedBy(role: "owner" | "staff", form: TermsForm): Partial<TermsInput> {
	if (role === "staff") return readTerms(form);
	return {
		name: form.name,
		approvalDays: readDays(form.approvalDays),
		...(form.commissionRate === "" ? {} : { commissionRate: form.commissionRate }),
		...(form.feeRate === "" ? {} : { feeRate: form.feeRate }),
		...(form.parkedDays === "" ? {} : { parkedDays: readDays(form.parkedDays) }),
	};
}

async function answerSettings(
	c: WebContext,
	{ store }: WebDeps,
	form: TermsForm,
	faults: readonly Fault[],
): Promise<Response> {
	const programme = programmeOf(c);
	const isStaff = viewerOf(c).role === "staff";
	const errors = errorsByField(faults);
	const action = `/programmes/${programme.public_id}/settings`;
	const fields = html`${isStaff ? staffFields(form, errors) : ownerFields(form, errors)}
	<div class="row">${button({ label: "Save", tone: "primary" })}</div>`;
	const body: Content = [
		pageHeader({ title: "Settings", hint: "What holds for this programme's new conversions." }),
		faults.length === 0 ? null : message("bad", sayFaults(faults, errors)),
		section({
			id: "terms",
			title: "Terms",
			hint: "Changes hold for conversions that come in from now on. Those on record keep their amounts and their dates.",
			body: padded(postForm({ action, csrf: csrfField(c), body: fields })),
		}),
		section({ id: "about", title: "About this programme", body: padded(fixedFacts(programme, isStaff)) }),
		isStaff ? auditSection(await listAuditOfProgramme(store.db, programme.id, AUDIT_ROWS)) : null,
	];
	return answerPage(c, {
		title: "Settings",
		active: "settings",
		programme: await frameProgramme(store.db, programme),
		status: faults.length === 0 ? 200 : 422,
		body,
	});
}

function staffFields(form: TermsForm, errors: FieldErrors): Html {
	return html`${nameField(form, errors)}<div class="form-grid">${rateFields(form, errors)}${approvalField(form, errors)}</div>${pixelFields(form, errors)}`;
}

function ownerFields(form: TermsForm, errors: FieldErrors): Html {
	return html`<div class="form-grid">${nameField(form, errors)}${approvalField(form, errors)}</div>`;
}

/** A fault at a field that this form does not have is said above it. */
function sayFaults(faults: readonly Fault[], errors: FieldErrors): string {
	const refused = faults.find(({ code }) => code === "not_allowed");
	return refused?.detail ?? errors.get("") ?? "Nothing was saved yet. Correct what is marked below.";
}

function fixedFacts(programme: Programme, isStaff: boolean): Html {
	const own: readonly (readonly [string, Content])[] = [
		["Programme id", copyable(programme.public_id, "the programme's id")],
		["Currency", programme.currency],
		["Since", dayTag(programme.created_at_ms)],
	];
	if (isStaff) return facts(own);
	return html`${facts([
		...own,
		["Commission", `${shortenRate(programme.commission_rate)} % of the basket`],
		["Network fee", `${shortenRate(programme.fee_rate)} % of the basket`],
		[
			"Pixels",
			programme.parks_pixels === 1
				? `parked until your server confirms them, for at most ${programme.parked_days} days`
				: "recorded at once",
		],
	])}<p class="small soft">Rates and the handling of pixels are agreed with the network: ask its staff to change them.</p>`;
}
