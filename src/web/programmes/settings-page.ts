// /programmes/:id/settings: the terms, to be changed by owners and staff and read by everybody else; and for staff who
// did what here.

import { html } from "hono/html";
import { changeProgramme, type TermChange } from "../../accounts/change-programme.ts";
import { shortenRate, type Terms, type TermsInput, termsOf } from "../../accounts/programme-terms.ts";
import type { Fault } from "../../domain/fault.ts";
import { grants, type PersonKind, type Standing } from "../../domain/roles.ts";
import { listAudit } from "../../store/audit-list.ts";
import { readAuditSubjects } from "../../store/audit-subjects.ts";
import { findProgrammesById, type Programme } from "../../store/programmes.ts";
import { facts, message, padded, pageHeader, section } from "../components/blocks.ts";
import { button, postForm } from "../components/forms.ts";
import { copyable, count, countOf, dayTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { cursorOf, pagesOf } from "../filter-query.ts";
import { setFlash } from "../flash.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { settingsPath } from "../paths.ts";
import { may, programmeOf, standingOf, viewerOf } from "../viewer.ts";
import { auditSection } from "./audit-section.ts";
import {
	errorsByField,
	type FieldErrors,
	PIXEL_WORTH,
	pixelFields,
	readDays,
	readTerms,
	TERMS_FORM,
	type TermsForm,
	termFields,
	writeTerms,
} from "./terms-form.ts";

const AUDIT_ROWS = 50;
const SHOWN_FIELD = "shown";
const TERM_NAMES = TERMS_FORM.keyof().options;

export function showSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const form = writeTerms(termsOf(programmeOf(c)));
	return answerSettings(c, deps, { form, shown: form, faults: [] });
}

export async function saveSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const viewer = viewerOf(c);
	const body = await c.req.parseBody();
	const form = TERMS_FORM.parse(body);
	const shown = readShown(body[SHOWN_FIELD]) ?? writeTerms(termsOf(programme));
	const wanted = wantedBy(viewer.kind, form);
	const changed = await changeProgramme(deps, viewer, programme, wanted, readTerms(shown));
	if (!changed.ok) return answerRefused(c, deps, { form, shown, faults: changed.faults });
	if (changed.value.length === 0) setFlash(c, "info", "Nothing was changed.");
	else setFlash(c, "good", `Saved. ${changed.value.map(sayChange).join(" ")}`);
	return c.redirect(settingsPath(programme.public_id), 303);
}

const SENTENCES: Readonly<Record<keyof Terms, (after: string) => string>> = {
	name: (after) => `The programme is now called ${after}`,
	approvalDays: (after) =>
		`New conversions are approved after ${count(Number(after))} day${after === "1" ? "" : "s"}`,
	approvalDaysMin: (after) => `Owners may set the approval window to ${after} days or more`,
	approvalDaysMax: (after) => `Owners may set the approval window to ${after} days or less`,
	commissionRate: (after) => `Commission on new conversions is ${after} %`,
	feeRate: (after) => `The network fee on new conversions is ${after} %`,
	parksPixels: (after) => `New pixel conversions are parked: ${after}`,
	parkedDays: (after) => `New pixel conversions are parked for at most ${after} days`,
};

function sayChange({ term, before, after }: TermChange): string {
	const was = /^\d+$/.test(before) ? count(Number(before)) : before;
	return `${SENTENCES[term](after)} (was ${was}).`;
}

interface SettingsState {
	form: TermsForm;
	/** What the form held when it was opened: what differs from it is what somebody wants changed. */
	shown: TermsForm;
	faults: readonly Fault[];
}

/** Whoever was overtaken sees what the others saved, and their own words where they typed any. */
async function answerRefused(c: WebContext, deps: WebDeps, state: SettingsState): Promise<Response> {
	const isOvertaken = state.faults.some(({ code }) => code === "changed_meanwhile");
	if (!isOvertaken) return answerSettings(c, deps, state);
	const { id } = programmeOf(c);
	const programme = (await findProgrammesById(deps.store.db, [id])).get(id) ?? programmeOf(c);
	const now = writeTerms(termsOf(programme));
	const { form, shown, faults } = state;
	const typed = TERM_NAMES.filter((name) => form[name] !== shown[name]);
	const merged = { ...now, ...Object.fromEntries(typed.map((name) => [name, form[name]])) };
	return answerSettings(c, deps, { form: merged, shown: now, faults });
}

function writeShown(shown: TermsForm): Html {
	const entries = TERM_NAMES.flatMap((name) => (shown[name] === undefined ? [] : [[name, shown[name]]]));
	return html`<input type="hidden" name="${SHOWN_FIELD}" value="${new URLSearchParams(entries).toString()}">`;
}

function readShown(text: unknown): TermsForm | undefined {
	if (typeof text !== "string") return undefined;
	return TERMS_FORM.safeParse(Object.fromEntries(new URLSearchParams(text))).data;
}

/** An owner's form has two fields; whatever else they send is put to the use case, which refuses it. */
function wantedBy(kind: PersonKind, form: TermsForm): Partial<TermsInput> {
	if (kind === "staff") return readTerms(form);
	return {
		name: form.name,
		approvalDays: readDays(form.approvalDays),
		...(form.commissionRate === "" ? {} : { commissionRate: form.commissionRate }),
		...(form.feeRate === "" ? {} : { feeRate: form.feeRate }),
		...(form.parkedDays === "" ? {} : { parkedDays: readDays(form.parkedDays) }),
		...(form.approvalDaysMin === undefined ? {} : { approvalDaysMin: readDays(form.approvalDaysMin) }),
		...(form.approvalDaysMax === undefined ? {} : { approvalDaysMax: readDays(form.approvalDaysMax) }),
	};
}

async function answerSettings(
	c: WebContext,
	deps: WebDeps,
	{ form, shown, faults }: SettingsState,
): Promise<Response> {
	const programme = programmeOf(c);
	const isStaff = viewerOf(c).kind === "staff";
	const errors = errorsByField(faults);
	const action = settingsPath(programme.public_id);
	const fields = html`${writeShown(shown)}${isStaff ? staffFields(form, errors) : ownerFields(form, errors, programme)}
	<div class="row">${button({ label: "Save", tone: "primary" })}</div>`;
	const body: Content = [
		pageHeader({ title: "Settings", hint: "What applies to this programme's new conversions." }),
		faults.length === 0 ? null : message("bad", sayFaults(faults, errors)),
		may(c, "manage")
			? section({
					id: "terms",
					title: "Terms",
					hint: "Changes apply to conversions that come in from now on. Those on record keep their amounts and their dates.",
					body: padded(postForm({ action, csrf: csrfField(c), body: fields })),
				})
			: null,
		section({
			id: "about",
			title: "About this programme",
			body: padded(fixedFacts(programme, standingOf(c))),
		}),
		isStaff ? await readAudit(c, deps, programme) : null,
	];
	return answerPage(c, {
		title: "Settings",
		active: "settings",
		status: faults.length === 0 ? 200 : faults[0]?.code === "changed_meanwhile" ? 409 : 422,
		body,
	});
}

async function readAudit(c: WebContext, deps: WebDeps, programme: Programme): Promise<Html> {
	const { id, public_id } = programme;
	const list = {
		name: `audit of programme:${id}`,
		path: settingsPath(public_id),
		query: { audit: c.req.query("audit") },
		cursorName: "audit",
		hash: "#audit",
	};
	const after = cursorOf(deps, list);
	const page = await listAudit(deps.store.db, { programmeId: id }, { after, limit: AUDIT_ROWS });
	return auditSection({
		programme,
		entries: page.rows,
		subjects: await readAuditSubjects(deps.store.db, page.rows),
		pages: pagesOf(deps, list, page),
	});
}

function staffFields(form: TermsForm, errors: FieldErrors): Html {
	const rates = termFields(["commissionRate", "feeRate"], form, errors);
	const days = termFields(["approvalDays", "approvalDaysMin", "approvalDaysMax"], form, errors);
	return html`${termFields(["name"], form, errors)}<div class="form-grid">${rates}</div><div class="form-grid">${days}</div>${pixelFields(form, errors)}`;
}

function ownerFields(form: TermsForm, errors: FieldErrors, programme: Programme): Html {
	const { approval_days_min: least, approval_days_max: most } = programme;
	const hints = {
		name: "What your people and the network's staff see everywhere.",
		approvalDays: `Days until a conversion is approved automatically, from ${least} to ${count(most)}. The network sets these limits.`,
	};
	return html`<div class="form-grid">${termFields(["name", "approvalDays"], form, errors, hints)}</div>`;
}

/** A fault at a field that this form does not have is said above it. */
function sayFaults(faults: readonly Fault[], errors: FieldErrors): string {
	const refused = faults.find(({ code }) => code === "not_allowed");
	return refused?.detail ?? errors.get("") ?? "Nothing was saved yet. Correct what is marked below.";
}

function fixedFacts(programme: Programme, standing: Standing): Html {
	const own: readonly (readonly [string, Content])[] = [
		["Programme id", copyable(programme.public_id, "the programme's id")],
		["Currency", programme.currency],
		["Since", dayTag(programme.created_at_ms)],
	];
	if (standing === "staff") return facts(own);
	const days = countOf(programme.approval_days, "day");
	return html`${facts([
		...own,
		...(grants(standing, "manage") ? [] : [["Approval window", days] as const]),
		["Commission", `${shortenRate(programme.commission_rate)} % of the basket`],
		["Network fee", `${shortenRate(programme.fee_rate)} % of the basket`],
		[
			"Pixels",
			programme.parks_pixels === 1
				? `parked until your server confirms them, for at most ${programme.parked_days} days`
				: html`recorded at once, without your server's confirmation. ${PIXEL_WORTH} Check pixel conversions before they are approved, or ask for parking.`,
		],
	])}<p class="small soft">Rates and the handling of pixels are agreed with the network: ask its staff to change them.</p>`;
}
