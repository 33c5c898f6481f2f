// "Reject this order?": asked on a page of its own, because it cannot be undone, and with scripts off as well.

import { html } from "hono/html";
import type { DecisionMove } from "../../conversions/decision-rights.ts";
import { REASONS } from "../../domain/conversion.ts";
import type { Conversion } from "../../store/conversions.ts";
import { card, facts, pageHeader } from "../components/blocks.ts";
import { statusBadge } from "../components/conversion-cells.ts";
import { reasonWords, titleCase } from "../components/conversion-words.ts";
import { button, linkButton, postForm } from "../components/forms.ts";
import { amount } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext } from "../env.ts";
import { answerPage } from "../page.ts";
import { conversionPath } from "../paths.ts";
import { programmeOf } from "../viewer.ts";

export interface Question {
	conversion: Conversion;
	move: Exclude<DecisionMove, "approve">;
	reason: string;
	/** Where it was asked for: the filters of the list, or undefined for the conversion's own page. */
	back: string | undefined;
	backHref: string;
}

const VERBS = { reject: "Reject", reverse: "Reverse" } as const;

export async function showQuestion(c: WebContext, question: Question): Promise<Response> {
	const { conversion, move, backHref } = question;
	const title = `${VERBS[move]} order ${conversion.order_id}?`;
	const reason = REASONS.find((known) => known === question.reason);
	const fields = { decision: move, reason: question.reason, sure: "yes", back: question.back };
	return answerPage(c, {
		title,
		active: "conversions",
		body: html`${pageHeader({
			title,
			hint: "This cannot be undone. The shop is told, with the reason.",
		})}${card(
			facts([
				["Status now", statusBadge(conversion.status)],
				["Event type", titleCase(conversion.event_type)],
				["Basket", amount(conversion.basket_value, conversion.currency)],
				["Commission", amount(conversion.commission, conversion.currency)],
				["Reason", reason === undefined ? null : reasonWords(reason)],
			]),
			postForm({
				action: `${conversionPath(programmeOf(c).public_id, conversion.public_id)}/decide`,
				csrf: csrfField(c),
				className: "row",
				body: html`${Object.entries(fields).map(([name, value]) =>
					value === undefined ? null : html`<input type="hidden" name="${name}" value="${value}">`,
				)}${button({ label: `${VERBS[move]} this order`, tone: "primary" })}${linkButton({
					label: "Keep it as it is",
					tone: "quiet",
					href: backHref,
				})}`,
			}),
		)}`,
	});
}
