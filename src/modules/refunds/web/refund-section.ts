// The section of a conversion's page that lists its refunds, with the form to refund a part of its value.

import { judgeRight } from "#core/conversions/decide.ts";
import { REASONS } from "#core/domain/conversion.ts";
import { type Fault, plainWords } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import type { Standing } from "#core/domain/roles.ts";
import { type Conversion, findByPublicId } from "#core/store/queries/conversions.ts";
import { titleCase } from "#core/web/conversion-ui.ts";
import { deciderOf } from "#core/web/conversions/decide-action.ts";
import { answerError } from "#core/web/error-page.ts";
import { declareForm } from "#core/web/form.ts";
import { leadTo, may, type PageDeps, programmeOf, standingOf, type WebContext } from "#core/web/page.ts";
import { conversionPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { findRefundObstacle } from "../domain/refund.ts";
import type { ListedRefund } from "../store/refunds.ts";
import { refundableOf, refundOutcome } from "../use-cases/refund.ts";
import { refundFromPage } from "../use-cases/refund-from-page.ts";

const REFUND_FORM = declareForm({
	amount: { id: "refund-amount", label: "Amount", isRequired: true, inputMode: "decimal" },
	reason: {
		// The ids must differ from those of the form with the decisions on the same page.
		id: "refund-reason",
		label: "Reason",
		isRequired: true,
		options: [
			{ value: "", label: "Choose a reason" },
			...REASONS.map((value) => ({ value, label: titleCase(value) })),
		],
	},
	refundId: {
		id: "refund-id",
		label: "Refund ID",
		isRequired: true,
		hint: "Your own number of the refund, such as that of the credit note. The same ID cannot be refunded twice.",
	},
});

/**
 * Returns the section, or null if the conversion has no refunds and cannot be refunded by the reader. A reader who could
 * refund the conversion if the shop had confirmed it finds out why there is no form.
 */
export function refundSection(
	c: WebContext,
	deps: PageDeps,
	conversion: Conversion,
	refunds: readonly ListedRefund[],
): Content {
	const obstacle = findRefundObstacle(refundableOf(conversion));
	const isAllowed = may(c, "decide") && judgeRight(deciderOf(c).side, "refund").ok;
	const mayRefund = isAllowed && obstacle === null;
	const whyNotYet = isAllowed && obstacle?.code === "not_confirmed" ? plainWords(obstacle) : null;
	if (refunds.length === 0 && !mayRefund && whyNotYet === null) return null;
	const { currency } = conversion;
	return ui.section({
		id: "refunds",
		title: "Refunds",
		hint: "Parts of the value that the shop paid back. Commission and network fee are those of what is left.",
		body: [
			refunds.length === 0
				? null
				: ui.dataTable<ListedRefund>({
						caption: "Refunds, the oldest first",
						rows: refunds,
						empty: "",
						stacks: true,
						columns: [
							{
								title: "Refund ID",
								namesRow: true,
								cell: ({ refund_id }) => html`<code class="break">${refund_id}</code>`,
							},
							{ title: "Amount", isNumber: true, cell: ({ amount }) => ui.amount(amount, currency) },
							{ title: "Left", isNumber: true, cell: ({ basket_value: left }) => ui.amount(left, currency) },
							{ title: "Reason", cell: ({ reason }) => titleCase(reason) },
							{ title: "By", cell: (refund) => whoRefunded(refund, standingOf(c)) },
							{ title: "When", cell: ({ at_ms }) => ui.timeTag(at_ms) },
						],
					}),
			mayRefund ? ui.padded(refundForm(c, deps, conversion)) : null,
			whyNotYet === null ? null : ui.padded(html`<p class="small soft">${whyNotYet}</p>`),
		],
	});
}

/** Returns the name of the person who entered the refund. A shop sees only the names of its own people. */
function whoRefunded({ person_email: email, person_kind: kind }: ListedRefund, reader: Standing): string {
	if (email === null) return "Over the API";
	return reader === "staff" || kind === "shop" ? email : "The network";
}

function refundForm(c: WebContext, { clock, random }: PageDeps, conversion: Conversion): Html {
	const { public_id: id, basket_value: left, currency } = conversion;
	return ui.foldable(
		"Refund a part",
		c.req.method === "POST" && c.req.path.endsWith("/refund"),
		html`<p class="small soft">A refund cannot be undone. If it leaves nothing of ${ui.amount(left, currency)}, the conversion is reversed.</p>`,
		REFUND_FORM.show(c, {
			action: `${conversionPath(programmeOf(c).public_id, id)}/refund`,
			send: "Refund",
			// The ID is made with the form, so that sending it twice refunds once.
			values: { refundId: makeId("ref", clock.nowMs(), random.bytes(ID_RANDOM_BYTES)) },
			looks: { amount: { label: `Amount in ${currency}`, hint: `At most ${left}.` } },
		}),
	);
}

/** Stores the refund of the form. `show` renders the conversion's page again if the refund is refused. */
export async function refund(
	c: WebContext,
	deps: PageDeps,
	show: () => Promise<Response>,
): Promise<Response> {
	const programme = programmeOf(c);
	const id = c.req.param("conversionId") ?? "";
	if ((await findByPublicId(deps.store.db, programme.id, id)) === undefined)
		return answerError(c, "not_found");
	const refunded = await refundFromPage(deps, deciderOf(c), programme, id, await REFUND_FORM.read(c));
	if (!refunded.ok) {
		const { fault, ...rest } = refunded;
		const faults = "faults" in rest ? { faults: rest.faults.map(inPlainWords) } : {};
		return REFUND_FORM.refuse(c, { fault: inPlainWords(fault), ...faults }, show);
	}
	const { conversion, outcome, refund: stored } = refunded.value;
	const path = conversionPath(programme.public_id, id);
	if (outcome === "already" || stored === undefined) {
		return leadTo(c, path, "This refund was entered before. Nothing was changed.", "info");
	}
	const { basket_value: left, commission, currency } = conversion;
	const text =
		refundOutcome(stored) === "REVERSED"
			? `${stored.amount} ${currency} was refunded. Nothing is left, so the conversion is reversed.`
			: `${stored.amount} ${currency} was refunded. ${left} ${currency} is left, with a commission of ${commission} ${currency}.`;
	return leadTo(c, path, text);
}

function inPlainWords(fault: Fault): Fault {
	return { ...fault, detail: plainWords(fault) };
}
