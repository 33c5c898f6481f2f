// Changes the partner of a conversion in two steps. The form on the conversion's page asks for the partner and the reason.
// The next page shows both amounts as they are and as they would become, and changes them only after a confirmation.

import { showOrderId } from "#core/domain/visible-text.ts";
import { type Conversion, orderIdOf } from "#core/store/queries/conversions.ts";
import { declareForm, HIDDEN } from "#core/web/form.ts";
import { actorOf, answerPage, leadTo, type PageDeps, programmeOf, type WebContext } from "#core/web/page.ts";
import { ALL_CONVERSIONS_PATH, conversionPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { type Assignment, assignPartner, previewAssignment } from "../use-cases/assign.ts";

const ASSIGN_FORM = declareForm({
	partner: { label: "Partner's name or ID", hint: "Leave empty for nobody." },
	reason: {
		// The id must differ from "reason", because the form with the decisions on the same page has a field with
		// that id.
		id: "assign-reason",
		label: "Reason for the change",
		isRequired: true,
		hint: "It is kept in the audit log.",
	},
});

const CONFIRM_FORM = declareForm({
	partner: HIDDEN,
	reason: HIDDEN,
	/** Text that describes what the page showed, so that nothing else is confirmed. See `assignPartner`. */
	shown: HIDDEN,
});

export function assignForm(c: WebContext, conversion: Conversion, partner: string | undefined): Html {
	return ui.foldable(
		"Change the partner",
		c.req.method === "POST" && c.req.path === pathOf(conversion),
		html`<p class="small soft">The commission is the one that the new partner had when the sale was recorded. ${effectOn(conversion)} You see the new amounts before anything changes.</p>`,
		ASSIGN_FORM.show(c, {
			action: pathOf(conversion),
			send: "Show the new amounts",
			values: { partner },
		}),
	);
}

/** Answers both forms. `showConversion` shows the page of the conversion with the first form again. */
export async function assignTo(
	c: WebContext,
	deps: PageDeps,
	conversionId: string,
	showConversion: () => Promise<Response>,
): Promise<Response> {
	const confirmed = await CONFIRM_FORM.read(c);
	if (confirmed.shown !== "") {
		const assigned = await assignPartner(deps, actorOf(c), conversionId, confirmed);
		if (assigned.ok)
			return leadTo(c, conversionPath(programmeOf(c).public_id, conversionId), sayDone(assigned.value));
		if (assigned.fault.code === "changed_meanwhile") {
			const now = await previewAssignment(deps, conversionId, confirmed);
			if (now.ok) return CONFIRM_FORM.refuse(c, assigned, () => showAssignment(c, now.value), {});
		}
		await ASSIGN_FORM.read(c);
		return ASSIGN_FORM.refuse(c, assigned, showConversion);
	}
	const preview = await previewAssignment(deps, conversionId, await ASSIGN_FORM.read(c));
	return preview.ok ? showAssignment(c, preview.value) : ASSIGN_FORM.refuse(c, preview, showConversion);
}

function sayDone({ commission, network_fee, currency }: Conversion): string {
	return `The partner was changed. The commission is now ${commission} ${currency}, the network fee ${network_fee} ${currency}.`;
}

interface Line {
	name: string;
	before: Content;
	after: Content;
}

/** Shows the change with both amounts, and asks for a confirmation. */
function showAssignment(c: WebContext, assignment: Assignment): Promise<Response> {
	const { conversion, programme, reason, before, after, isSame, shown } = assignment;
	const { currency } = programme;
	const title = `Change the partner of order ${showOrderId(orderIdOf(conversion))}?`;
	const back = conversionPath(programme.public_id, conversion.public_id);
	const cancel = { label: isSame ? "Back" : "Cancel", tone: "quiet", href: back } as const;
	const amounts = (name: string, of: "commission" | "networkFee"): Line => ({
		name,
		before: ui.amount(before[of], currency),
		after: ui.amount(after[of], currency),
	});
	const isUnpaid = before.commission === after.commission && before.networkFee === after.networkFee;
	return answerPage(c, {
		title,
		active: "conversions",
		body: [
			ui.pageHeader({ title, hint: isSame ? null : effectOn(conversion) }),
			isSame
				? ui.message("info", html`${nameOf(before)} has this sale already, so nothing would change.`)
				: null,
			ui.section({
				id: "amounts",
				title: "What changes",
				hint: isUnpaid
					? "The amounts stay as they are."
					: html`The basket value is ${ui.amount(conversion.basket_value, currency)}${conversion.refunded_value === null ? null : " after refunds"}.`,
				body: [
					ui.dataTable<Line>({
						caption: "Partner and amounts before and after the change",
						rows: [
							{ name: "Partner", before: nameOf(before), after: nameOf(after) },
							amounts("Commission", "commission"),
							amounts("Network fee", "networkFee"),
						],
						stacks: true,
						empty: null,
						columns: [
							{ title: "What", isTitleHidden: true, namesRow: true, cell: ({ name }) => name },
							{ title: "Now", cell: (line) => line.before },
							{ title: "After", cell: (line) => html`<strong>${line.after}</strong>` },
						],
					}),
					ui.padded(
						ui.facts([["Reason", html`<span class="break">${reason}</span>`]]),
						isSame
							? ui.linkButton(cancel)
							: CONFIRM_FORM.show(c, {
									action: pathOf(conversion),
									values: { partner: after.partner?.partner_public_id ?? "", reason, shown },
									send: html`<div class="row">${ui.button({ label: "Change partner", tone: "primary" })}${ui.linkButton(cancel)}</div>`,
								}),
					),
				],
			}),
		],
	});
}

function nameOf({ partner }: Assignment["before"]): Html {
	return html`<span class="break">${partner === null ? "Nobody" : partner.partner_name}</span>`;
}

function effectOn({ status }: Conversion): string {
	return status === "APPROVED"
		? "The commission is taken from the account of the present partner, and the new partner's account gets the new one. The shop gets no callback about this change. The partners do, if they have a callback URL."
		: "The shop gets the new amounts with the next callback.";
}

function pathOf({ public_id }: Pick<Conversion, "public_id">): string {
	return `${ALL_CONVERSIONS_PATH}/${public_id}/partner`;
}
