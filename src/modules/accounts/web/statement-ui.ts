// Words and small components for statements, which several pages share.

import { dayIn } from "#core/domain/zone-day.ts";
import { paymentDetailsPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { type StatementState, stateOfStatement } from "../domain/statement.ts";
import type { ListedStatement } from "../store/statements.ts";

export const STATE_WORDS: Readonly<Record<StatementState, string>> = {
	to_pay: "To pay",
	paid: "Paid",
	carried: "Carried forward",
};

const STATE_TONES: Readonly<Record<StatementState, ui.Tone>> = {
	to_pay: "info",
	paid: "good",
	carried: "plain",
};

export function stateBadge(state: StatementState): Html {
	return ui.badge(STATE_TONES[state], STATE_WORDS[state]);
}

export function stateOf(statement: ListedStatement): StatementState {
	return stateOfStatement(statement, statement.paid_on !== null);
}

/** Shows the state of a statement, with the day and the reference of its payment. */
export function stateCell(statement: ListedStatement): Html {
	const { paid_on: paidOn, reference } = statement;
	return html`${stateBadge(stateOf(statement))}${
		paidOn === null
			? null
			: html`<span class="secondary">${ui.plainDay(paidOn)}</span><span class="secondary break">${reference}</span>`
	}`;
}

/** Says that a partner has no payment details, with a link to enter them. */
export function noDetailsMark(partnerId: string): Html {
	return html`<span class="secondary"><a href="${paymentDetailsPath(partnerId)}">No payment details</a></span>`;
}

/** Returns links to the payment details of partners, separated by commas. */
export function detailsLinks(partners: readonly { id: string; name: string }[]): Html {
	return html`${partners.map(
		({ id, name }, index) =>
			html`${index === 0 ? "" : ", "}<a class="break" href="${paymentDetailsPath(id)}">${name}</a>`,
	)}`;
}

/** Shows the day of the issue in the time zone of the statement, as the statement itself shows it. */
export function issuedOn({ issued_at_ms: atMs, time_zone: zone }: ListedStatement): Html {
	return ui.plainDay(dayIn(atMs, zone));
}
