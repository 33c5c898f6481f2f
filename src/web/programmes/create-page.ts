// /programmes/new: staff agree the terms, name the owner, and get the link that the owner joins with.

import { z } from "zod";
import type { Fault } from "../../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../../domain/id.ts";
import { openProgramme } from "../../programmes/open-programme.ts";
import {
	DEFAULT_APPROVAL_DAYS,
	DEFAULT_APPROVAL_LIMITS,
	DEFAULT_PARKED_DAYS,
} from "../../programmes/programme-terms.ts";
import { findFirstProgramme, findProgramme } from "../../store/queries/programmes.ts";
import { sampleForm } from "../network/sample-programme.ts";
import { answerPage, csrfField, makerOf, setFlash, type WebContext, type WebDeps } from "../page.ts";
import { CREATE_PROGRAMME_PATH, integrationPath, PROGRAMMES_PATH, peoplePath } from "../paths.ts";
import { invitationCard } from "../people/people-page.ts";
import { button, foldable, html, linkButton, message, padded, pageHeader, postForm, section } from "../ui.ts";
import { pixelFields, readTerms, TERM_FIELDS, TERMS_FORM } from "./terms-form.ts";

const FORM = TERMS_FORM.extend({
	/** Chosen when the form was opened: sent twice, it makes one programme. */
	programmeId: z
		.string()
		.regex(/^prg_[0-9A-Z]{26}$/)
		.optional()
		.catch(undefined),
	currency: z.string().trim().default(""),
	email: z.string().trim().default(""),
});
type CreateForm = z.infer<typeof FORM>;

/** Folded away, unless one of them is wrong. */
const FOLDED = ["approvalDays", "approvalDaysMin", "approvalDaysMax", "parkedDays"] as const;

export async function showCreateForm(c: WebContext, deps: WebDeps): Promise<Response> {
	const form: CreateForm = {
		...FORM.parse({}),
		currency: "EUR",
		approvalDays: String(DEFAULT_APPROVAL_DAYS),
		approvalDaysMin: String(DEFAULT_APPROVAL_LIMITS.min),
		approvalDaysMax: String(DEFAULT_APPROVAL_LIMITS.max),
		parksPixels: "on",
		parkedDays: String(DEFAULT_PARKED_DAYS),
	};
	return answerForm(c, deps, form, []);
}

export async function createProgramme(c: WebContext, deps: WebDeps): Promise<Response> {
	const form = FORM.parse(await c.req.parseBody());
	if (
		form.programmeId !== undefined &&
		(await findProgramme(deps.store.db, form.programmeId)) !== undefined
	) {
		setFlash(
			c,
			"info",
			"This programme was created already. You can create a new link for its owner under People.",
		);
		return c.redirect(peoplePath(form.programmeId), 303);
	}
	const opened = await openProgramme(
		deps,
		{ ...deps, kind: "invited", maker: makerOf(c) },
		{
			...readTerms(form),
			publicId: form.programmeId,
			currency: form.currency,
			ownerEmail: form.email === "" ? null : form.email,
		},
	);
	if (!opened.ok) return answerForm(c, deps, form, opened.faults);
	const { programme, owner } = opened.value;
	if (owner === null) {
		setFlash(c, "good", `${programme.name} is created.`);
		return c.redirect(integrationPath(programme.public_id), 303);
	}
	c.set("programme", programme);
	c.set("standing", "staff");
	const body = html`${pageHeader({
		title: "Programme created",
		hint: `${programme.name} is ready. You need not wait for its owner.`,
		actions: [
			linkButton({ label: "Go to Integration", href: integrationPath(programme.public_id), tone: "primary" }),
			linkButton({ label: "All programmes", href: PROGRAMMES_PATH }),
		],
	})}${invitationCard(owner)}`;
	return answerPage(c, {
		title: "Programme created",
		active: "programmes",
		body,
	});
}

async function answerForm(
	c: WebContext,
	{ store, clock, random }: WebDeps,
	form: CreateForm,
	faults: readonly Fault[],
): Promise<Response> {
	const filled = TERM_FIELDS.fill(form, faults);
	const { fields, isWrong, above } = filled;
	const id = form.programmeId ?? makeId("prg", clock.nowMs(), random.bytes(ID_RANDOM_BYTES));
	const rows = html`<input type="hidden" name="programmeId" value="${id}">
	<div class="form-grid">${fields("name", "email")}</div>
	<div class="form-grid">${fields("currency", "commissionRate", "feeRate")}</div>
	${foldable(
		`Approval window (${DEFAULT_APPROVAL_DAYS} days) and pixel (parked)`,
		FOLDED.some(isWrong),
		html`<div class="stack"><div class="form-grid">${fields("approvalDays", "approvalDaysMin", "approvalDaysMax")}</div>${pixelFields(form, filled)}</div>`,
	)}
	<div class="row">${button({ label: "Create programme", tone: "primary" })}${linkButton({
		label: "Cancel",
		href: PROGRAMMES_PATH,
		tone: "quiet",
	})}</div>`;
	const isFirst = (await findFirstProgramme(store.db)) === undefined;
	const sample = isFirst ? { actions: sampleForm(c) } : {};
	const body = html`${pageHeader({ title: "Create programme", ...sample })}${
		faults.length === 0
			? null
			: (above ?? message("bad", "Nothing was created yet. Correct what is marked below."))
	}${section({
		id: "terms",
		title: "A shop's agreement with you",
		body: padded(postForm({ action: CREATE_PROGRAMME_PATH, csrf: csrfField(c), body: rows })),
	})}`;
	const status = faults.length === 0 ? 200 : 422;
	return answerPage(c, { title: "Create programme", active: "programmes", status, body });
}
