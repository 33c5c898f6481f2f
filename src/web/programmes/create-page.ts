// /programmes/new: staff agree the terms, name the owner, and get the link that the owner joins with.

import { ID_RANDOM_BYTES, makeId } from "../../domain/id.ts";
import { openProgramme } from "../../programmes/open-programme.ts";
import * as terms from "../../programmes/programme-terms.ts";
import { findFirstProgramme, findProgramme } from "../../store/queries/programmes.ts";
import { sampleForm } from "../network/network-page.ts";
import { answerPage, leadTo, makerOf, type WebContext, type WebDeps } from "../page.ts";
import { CREATE_PROGRAMME_PATH, integrationPath, PROGRAMMES_PATH, peoplePath } from "../paths.ts";
import { showProgrammePeople } from "../people/people-page.ts";
import { button, foldable, html, linkButton, padded, pageHeader, section } from "../ui.ts";
import { readTerms, TERMS_FORM, windowAndPixelRows } from "./terms-form.ts";

/** Folded away, unless one of them is wrong. */
const FOLDED = ["approvalDays", "approvalDaysMin", "approvalDaysMax", "parkedDays"] as const;

export async function showCreateForm(c: WebContext, { store, clock, random }: WebDeps): Promise<Response> {
	const isFirst = (await findFirstProgramme(store.db)) === undefined;
	const title = "Create programme";
	const form = TERMS_FORM.show(c, {
		action: CREATE_PROGRAMME_PATH,
		values: {
			programmeId: makeId("prg", clock.nowMs(), random.bytes(ID_RANDOM_BYTES)),
			currency: "EUR",
			approvalDays: String(terms.DEFAULT_APPROVAL_DAYS),
			approvalDaysMin: String(terms.DEFAULT_APPROVAL_LIMITS.min),
			approvalDaysMax: String(terms.DEFAULT_APPROVAL_LIMITS.max),
			parksPixels: "on",
			parkedDays: String(terms.DEFAULT_PARKED_DAYS),
		},
		rows: ({ fields, isWrong }) => html`${fields("programmeId")}
	<div class="form-grid">${fields("name", "email")}</div>
	<div class="form-grid">${fields("currency", "commissionRate", "feeRate")}</div>
	${foldable(
		`Approval window (${terms.DEFAULT_APPROVAL_DAYS} days) and pixel (parked)`,
		FOLDED.some(isWrong),
		html`<div class="stack">${windowAndPixelRows({ fields })}</div>`,
	)}`,
		send: html`<div class="row">${button({ label: title, tone: "primary" })}${linkButton({ label: "Cancel", href: PROGRAMMES_PATH, tone: "quiet" })}</div>`,
	});
	return answerPage(c, {
		title,
		active: "programmes",
		body: html`${pageHeader({ title, actions: isFirst ? sampleForm(c) : null })}${section({
			id: "terms",
			title: "A shop's agreement with you",
			body: padded(form),
		})}`,
	});
}

export async function createProgramme(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await TERMS_FORM.read(c);
	const publicId = /^prg_[0-9A-Z]{26}$/.exec(typed.programmeId)?.[0];
	if (publicId !== undefined && (await findProgramme(deps.store.db, publicId)) !== undefined) {
		const said = "This programme was created already. You can create a new link for its owner here.";
		return leadTo(c, peoplePath(publicId), said, "info");
	}
	const opened = await openProgramme(
		deps,
		{ ...deps, kind: "invited", maker: makerOf(c) },
		{
			...readTerms(typed),
			publicId,
			currency: typed.currency.trim(),
			ownerEmail: typed.email.trim() === "" ? null : typed.email.trim(),
		},
	);
	if (!opened.ok) return TERMS_FORM.refuse(c, opened, () => showCreateForm(c, deps));
	const { programme, owner } = opened.value;
	const said = `${programme.name} is created.`;
	if (owner === null) return leadTo(c, integrationPath(programme.public_id), said);
	// Its people are shown in the answer itself, because the owner's link is in it.
	c.set("programme", programme);
	c.set("standing", "staff");
	c.set("flash", { tone: "good", text: said });
	return showProgrammePeople(c, deps, owner);
}
