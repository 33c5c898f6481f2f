// /programmes/:id/settings: the terms, to be changed by owners and staff and read by everybody else; and for staff who
// did what here.

import type { Fault } from "../../domain/fault.ts";
import { grants, type PersonKind, type Standing } from "../../domain/roles.ts";
import { changeProgramme, type TermChange } from "../../programmes/change-programme.ts";
import { shortenRate, type Terms, type TermsInput, termsOf } from "../../programmes/programme-terms.ts";
import { listAudit, readAuditSubjects } from "../../store/queries/audit-list.ts";
import { findProgrammesById, type Programme } from "../../store/queries/programmes.ts";
import { cursorOf, pagesOf } from "../filter-query.ts";
import {
	answerPage,
	csrfField,
	may,
	programmeOf,
	setFlash,
	standingOf,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import { settingsPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { auditSection } from "./audit-section.ts";
import {
	PIXEL_WORTH,
	pixelFields,
	readDays,
	readTerms,
	TERM_FIELDS,
	TERMS_FORM,
	type TermsForm,
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
		`New conversions are approved after ${ui.count(Number(after))} day${after === "1" ? "" : "s"}`,
	approvalDaysMin: (after) => `Owners may set the approval window to ${after} days or more`,
	approvalDaysMax: (after) => `Owners may set the approval window to ${after} days or less`,
	commissionRate: (after) => `Commission on new conversions is ${after} %`,
	feeRate: (after) => `The network fee on new conversions is ${after} %`,
	parksPixels: (after) => `New pixel conversions are parked: ${after}`,
	parkedDays: (after) => `New pixel conversions are parked for at most ${after} days`,
};

function sayChange({ term, before, after }: TermChange): string {
	const was = /^\d+$/.test(before) ? ui.count(Number(before)) : before;
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
	const { above, rows } = isStaff ? staffRows(form, faults) : ownerRows(form, faults, programme);
	const action = settingsPath(programme.public_id);
	const fields = html`${writeShown(shown)}${rows}
	<div class="row">${ui.button({ label: "Save", tone: "primary" })}</div>`;
	const body: Content = [
		ui.pageHeader({ title: "Settings", hint: "What applies to this programme's new conversions." }),
		faults.length === 0
			? null
			: (above ?? ui.message("bad", "Nothing was saved yet. Correct what is marked below.")),
		may(c, "manage")
			? ui.section({
					id: "terms",
					title: "Terms",
					hint: "Changes apply to conversions that come in from now on. Those on record keep their amounts and their dates.",
					body: ui.padded(ui.postForm({ action, csrf: csrfField(c), body: fields })),
				})
			: null,
		ui.section({
			id: "about",
			title: "About this programme",
			body: ui.padded(fixedFacts(programme, standingOf(c))),
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

interface FilledTerms {
	above: Html | null;
	rows: Html;
}

function staffRows(form: TermsForm, faults: readonly Fault[]): FilledTerms {
	const filled = TERM_FIELDS.fill(form, faults);
	const { fields, above } = filled;
	const rows = html`${fields("name")}<div class="form-grid">${fields("commissionRate", "feeRate")}</div><div class="form-grid">${fields("approvalDays", "approvalDaysMin", "approvalDaysMax")}</div>${pixelFields(form, filled)}`;
	return { above, rows };
}

function ownerRows(form: TermsForm, faults: readonly Fault[], programme: Programme): FilledTerms {
	const { approval_days_min: least, approval_days_max: most } = programme;
	const { fields, above } = TERM_FIELDS.fill(form, faults, {
		shown: ["name", "approvalDays"],
		looks: {
			name: { hint: "What your people and the network's staff see everywhere." },
			approvalDays: {
				hint: `Days until a conversion is approved automatically, from ${least} to ${ui.count(most)}. The network sets these limits.`,
			},
		},
	});
	return { above, rows: html`<div class="form-grid">${fields()}</div>` };
}

function fixedFacts(programme: Programme, standing: Standing): Html {
	const own: readonly (readonly [string, Content])[] = [
		["Programme id", ui.copyable(programme.public_id, "the programme's id")],
		["Currency", programme.currency],
		["Since", ui.dayTag(programme.created_at_ms)],
	];
	if (standing === "staff") return ui.facts(own);
	const days = ui.countOf(programme.approval_days, "day");
	return html`${ui.facts([
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
