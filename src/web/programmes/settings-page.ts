// /programmes/:id/settings: the terms, to be changed by owners and staff and read by everybody else.

import { grants, type Standing } from "../../domain/roles.ts";
import { changeProgramme, shortenRate, type TermsInput, termsOf } from "../../programmes/programme-terms.ts";
import { findProgrammesById, type Programme } from "../../store/queries/programmes.ts";
import {
	answerPage,
	leadTo,
	may,
	programmeOf,
	standingOf,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import { AUDIT_PATH, settingsPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import {
	PIXEL_WORTH,
	readDays,
	readTerms,
	TERMS_FORM,
	type TypedTerms,
	windowAndPixelRows,
	writeTerms,
} from "./terms-form.ts";

export function showSettings(c: WebContext): Promise<Response> {
	const programme = programmeOf(c);
	const isStaff = viewerOf(c).kind === "staff";
	const audit = withQuery(AUDIT_PATH, { programme: programme.public_id });
	return answerPage(c, {
		title: "Settings",
		active: "settings",
		body: [
			ui.pageHeader({
				title: "Settings",
				hint: "What applies to this programme's new conversions.",
				actions: isStaff ? ui.linkButton({ label: "Who did what", href: audit }) : null,
			}),
			may(c, "manage")
				? ui.section({
						id: "terms",
						title: "Terms",
						hint: "Changes apply to conversions that come in from now on. Those on record keep their amounts and their dates.",
						body: ui.padded(isStaff ? staffForm(c, programme) : ownerForm(c, programme)),
					})
				: null,
			ui.section({
				id: "about",
				title: "About this programme",
				body: ui.padded(fixedFacts(programme, standingOf(c))),
			}),
		],
	});
}

/** An owner's form has two fields. Whatever else they send is left out. */
export async function saveSettings(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const viewer = viewerOf(c);
	const typed = await TERMS_FORM.read(c);
	const shown: TypedTerms = Object.fromEntries(new URLSearchParams(typed.shown));
	const wanted: Partial<TermsInput> =
		viewer.kind === "staff"
			? readTerms(typed)
			: { name: typed.name, approvalDays: readDays(typed.approvalDays) };
	const opened = typed.shown === "" ? {} : readTerms(shown);
	const changed = await changeProgramme(deps, viewer, programme, wanted, opened);
	if (!changed.ok) {
		const isOvertaken = changed.faults.some(({ code }) => code === "changed_meanwhile");
		const again = isOvertaken ? await mergeTyped(deps, programme, typed, shown) : undefined;
		return TERMS_FORM.refuse(c, changed, () => showSettings(c), again);
	}
	const path = settingsPath(programme.public_id);
	if (changed.value.length === 0) return leadTo(c, path, "Nothing was changed.", "info");
	return leadTo(c, path, "Saved.");
}

/** Whoever was overtaken sees what the others saved, and their own words where they typed any. */
async function mergeTyped({ store }: WebDeps, programme: Programme, typed: TypedTerms, shown: TypedTerms) {
	const present = (await findProgrammesById(store.db, [programme.id])).get(programme.id) ?? programme;
	const now = writeTerms(termsOf(present));
	const names = Object.keys(now) as (keyof typeof now)[];
	const own = names.filter((name) => typed[name] !== (shown[name] ?? ""));
	return {
		...now,
		...Object.fromEntries(own.map((name) => [name, typed[name]])),
		shown: writeShown(present),
	};
}

function writeShown(programme: Programme): string {
	return new URLSearchParams(writeTerms(termsOf(programme))).toString();
}

function formOf(programme: Programme) {
	return {
		action: settingsPath(programme.public_id),
		values: { ...writeTerms(termsOf(programme)), shown: writeShown(programme) },
		send: "Save",
	};
}

function staffForm(c: WebContext, programme: Programme): Html {
	return TERMS_FORM.show(c, {
		...formOf(programme),
		rows: ({ fields }) =>
			html`${fields("shown", "name")}<div class="form-grid">${fields("commissionRate", "feeRate")}</div>${windowAndPixelRows({ fields })}`,
	});
}

function ownerForm(c: WebContext, programme: Programme): Html {
	const { approval_days_min: least, approval_days_max: most } = programme;
	return TERMS_FORM.show(c, {
		...formOf(programme),
		shown: ["shown", "name", "approvalDays"],
		looks: {
			name: { hint: "What your people and the network's staff see everywhere." },
			approvalDays: {
				hint: `Days until a conversion is approved automatically, from ${least} to ${ui.count(most)}. The network sets these limits.`,
			},
		},
		rows: ({ fields }) => html`<div class="form-grid">${fields()}</div>`,
	});
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
