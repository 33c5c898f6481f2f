// The page of a statement, for the partner's people and for staff. It prints as a document, without navigation and
// buttons. Staff also mark the statement as paid here, and undo that.

import { addAmounts, decimalCount, formatMinor, minorUnits } from "#core/domain/money.ts";
import { dayIn, sayMonth } from "#core/domain/zone-day.ts";
import { answerCsv, csvFormFor } from "#core/web/conversions/csv-answer.ts";
import { UNNAMED_TITLE } from "#core/web/document.ts";
import { answerError } from "#core/web/error-page.ts";
import { declareForm } from "#core/web/form.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	type PageDeps,
	partnerOf,
	viewerOf,
	type WebContext,
} from "#core/web/page.ts";
import { paymentDetailsPath, statementPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { nameOfCountry } from "../domain/country.ts";
import { groupIban } from "../domain/payment-details.ts";
import type { StatementState } from "../domain/statement.ts";
import type { Entry } from "../store/entries.ts";
import {
	findStatement,
	type ListedStatement,
	listAdjustments,
	listStatementLines,
	MAX_LISTED_ADJUSTMENTS,
	type StatementLine,
} from "../store/statements.ts";
import { proofFile } from "../use-cases/files.ts";
import { openParties, type StatementParties, wereRemoved } from "../use-cases/parties.ts";
import { payStatements, undoPayment } from "../use-cases/payments.ts";
import { comparisonMessage, SEEN_LABEL } from "./restored.ts";
import { issuedOn, stateBadge, stateOf } from "./statement-ui.ts";

const PAY_FORM = declareForm({
	date: { label: "Paid on", type: "date", isRequired: true },
	reference: {
		label: "Reference (optional)",
		hint: "Of the bank or the payment provider. The partner sees it.",
		autocomplete: "off",
	},
	paidWithoutDetails: { label: "It was paid although there are no payment details", isBox: true },
	seenAtBank: { label: SEEN_LABEL, isBox: true },
});

const UNDO_FORM = declareForm({
	reason: { label: "Reason", hint: "The partner's account shows it.", isRequired: true, autocomplete: "off" },
});

/** A line of the statement's table. Amounts that a line does not have are null. */
interface Line {
	title: Content;
	note: Content;
	sales: number | null;
	earned: string | null;
	changed: string | null;
	amount: string;
}

function findHere(c: WebContext, { store }: PageDeps): Promise<ListedStatement | undefined> {
	return findStatement(store.db, c.req.param("statementId") ?? "", partnerOf(c).id);
}

export async function showStatement(c: WebContext, deps: PageDeps): Promise<Response> {
	const statement = await findHere(c, deps);
	const parties = statement === undefined ? null : openParties(deps, statement);
	if (statement === undefined) return answerError(c, "not_found");
	if (parties === null && !wereRemoved(statement)) return answerError(c, "not_found");
	const isStaff = viewerOf(c).kind === "staff";
	const { number, month } = statement;
	const path = statementPath(partnerOf(c).public_id, statement.public_id);
	const title = `Statement ${number}`;
	const state = stateOf(statement);
	return answerPage(c, {
		title,
		active: "partner-statements",
		body: [
			ui.pageHeader({
				title,
				hint: html`${sayMonth(month)} ${stateBadge(state)}`,
				actions: [
					html`<button type="button" class="button" hidden data-print>Print or save as PDF</button>`,
					ui.linkButton({ label: "Sales as CSV", href: `${path}/sales.csv` }),
				],
			}),
			html`<article class="card statement">${parties === null ? REMOVED_PARTIES : partiesPart(statement, parties)}${await linesPart(deps, statement)}${closingPart(statement, parties, state)}</article>`,
			isStaff ? await paymentSection(c, deps, statement, path) : null,
		],
	});
}

/** Shows both parties as they were on the day of the issue, and what the statement is about. */
function partiesPart(statement: ListedStatement, { network, partner }: StatementParties): Html {
	const { number, month, time_zone: zone, currency } = statement;
	const { details } = partner;
	const from = [network.name ?? UNNAMED_TITLE, network.address];
	const to = [
		details?.payee ?? partner.name,
		details?.payee === partner.name ? null : details === null ? null : partner.name,
		details?.address ?? null,
		details === null ? null : nameOfCountry(details.country),
		details === null || details.vatId === "" ? null : `VAT ID ${details.vatId}`,
	];
	return html`<div class="statement-parties">${party("From", from)}${party("To", to)}${ui.facts([
		["Statement", number],
		["Period", `Everything up to the end of ${sayMonth(month)} (${zone}) that no earlier statement contains`],
		["Issued", issuedOn(statement)],
		["Currency", currency],
	])}</div>`;
}

function party(title: string, lines: readonly (string | null)[]): Html {
	const shown = lines.filter((line) => line !== null && line !== "").join("\n");
	return html`<div><h2>${title}</h2><p class="typed">${shown}</p></div>`;
}

async function linesPart({ store }: PageDeps, statement: ListedStatement): Promise<Html> {
	const { currency } = statement;
	const programmes = await listStatementLines(store.db, statement.id);
	const lines: Line[] = [
		openingLine(statement),
		...programmes.map(programmeLine),
		...adjustmentLines(statement, await listAdjustments(store.reader, statement)),
		{ ...NO_SALES, title: html`<strong>Total</strong>`, note: null, amount: statement.total },
	];
	const money = (value: string | null) => (value === null ? null : ui.amount(value, currency));
	return ui.dataTable<Line>({
		caption: "Amounts of this statement",
		rows: lines,
		stacks: true,
		empty: null,
		columns: [
			{
				title: "Item",
				namesRow: true,
				cell: ({ title, note }) =>
					html`<span class="break">${title}</span>${note === null ? null : html`<span class="secondary break">${note}</span>`}`,
			},
			{ title: "Sales", isNumber: true, cell: ({ sales }) => (sales === null ? null : ui.count(sales)) },
			{ title: "Earned", isNumber: true, cell: ({ earned }) => money(earned) },
			{ title: "Changed", isNumber: true, cell: ({ changed }) => money(changed) },
			{
				title: "Amount",
				isNumber: true,
				cell: ({ amount }) => html`<strong>${money(amount)}</strong>`,
			},
		],
	});
}

const NO_SALES = { sales: null, earned: null, changed: null } as const;

function openingLine({ opening }: ListedStatement): Line {
	const note = minorUnits(opening) === 0n ? null : "Carried forward from the statement before";
	return { ...NO_SALES, title: "Opening balance", note, amount: opening };
}

/** Returns a line for each bonus and correction. If there are too many, the last line is the sum of the others. */
function adjustmentLines({ adjusted, time_zone: zone }: ListedStatement, listed: readonly Entry[]): Line[] {
	const lines = listed.map(({ amount, reason, at_ms: atMs }) => ({
		...NO_SALES,
		title: "Bonus or correction",
		note: html`${ui.plainDay(dayIn(atMs, zone))}: ${reason}`,
		amount,
	}));
	if (listed.length < MAX_LISTED_ADJUSTMENTS) return lines;
	const shown = listed.reduce((sum, { amount }) => sum + minorUnits(amount), 0n);
	const rest = formatMinor(minorUnits(adjusted) - shown, decimalCount(adjusted));
	const note = "The file with the sales lists them.";
	return [...lines, { ...NO_SALES, title: "Further bonuses and corrections", note, amount: rest }];
}

function programmeLine({ programme_name: name, sales, earned, changed }: StatementLine): Line {
	return { title: name, note: null, sales, earned, changed, amount: addAmounts(earned, changed) };
}

const REMOVED_PARTIES = ui.padded(
	html`<p class="soft">The names and addresses of both parties were removed. The partner was erased, and the time for which they had to be kept has ended.</p>`,
);

/** Shows the VAT note, and what happens with the total. */
function closingPart(
	statement: ListedStatement,
	parties: StatementParties | null,
	state: StatementState,
): Html {
	if (parties === null) return ui.padded(html`<p>${sayOutcome(statement, state)}</p>`);
	const { vatPercent, vatNote, details } = parties.partner;
	const vat = [vatPercent === null ? "" : `VAT: ${ui.decimal(vatPercent)} %.`, vatNote]
		.filter((text) => text !== "")
		.join("\n");
	return ui.padded(
		vat === "" ? null : html`<p class="typed">${vat}</p>`,
		html`<p>${sayOutcome(statement, state)}</p>`,
		state === "carried"
			? null
			: details === null
				? html`<p class="soft">No payment details were on record when the statement was issued. <a href="${paymentDetailsPath(statement.partner_public_id)}">Payment details</a></p>`
				: html`<p class="soft">Account: <span class="break">${accountOf(details)}</span></p>`,
		html`<p class="small soft">“Changed” is what became of sales after their approval: refunds, returns, and sales whose partner was changed.</p>`,
	);
}

function accountOf({ iban, bic, account }: NonNullable<StatementParties["partner"]["details"]>): string {
	if (iban === "") return account;
	return `IBAN ${groupIban(iban)}${bic === "" ? "" : `, BIC ${bic}`}`;
}

function sayOutcome(
	{ total, currency, paid_on: paidOn, reference }: ListedStatement,
	state: StatementState,
): Content {
	const sum = ui.amount(total, currency);
	switch (state) {
		case "carried":
			return html`<strong>Carried forward.</strong> Nothing is paid now. The next statement begins with ${sum}.`;
		case "to_pay":
			return html`<strong>To be paid:</strong> ${sum}`;
		case "paid":
			return html`<strong>Paid</strong> on ${ui.plainDay(paidOn ?? "")}: ${sum}${
				reference === null || reference === ""
					? null
					: html`, reference <span class="break">${reference}</span>`
			}`;
		default:
			return state satisfies never;
	}
}

/** Lets staff mark the statement as paid, or undo that. */
async function paymentSection(
	c: WebContext,
	deps: PageDeps,
	statement: ListedStatement,
	path: string,
): Promise<Html | null> {
	const { clock } = deps;
	const state = stateOf(statement);
	const hasDetails = statement.has_details === 1;
	const warning = await comparisonMessage(deps);
	switch (state) {
		case "carried":
			return null;
		case "to_pay":
			return ui.section({
				id: "payment",
				title: "Mark as paid",
				hint: html`The partner's people get a mail. The statement itself does not change. <a href="${paymentDetailsPath(statement.partner_public_id)}">Payment details</a>`,
				body: ui.padded(
					warning,
					hasDetails
						? null
						: ui.message(
								"warn",
								"The partner has no payment details. The payout file does not have this statement.",
							),
					PAY_FORM.show(c, {
						action: `${path}/pay`,
						values: { date: dayIn(clock.nowMs(), c.get("network").timeZone) },
						shown: [
							...(["date", "reference"] as const),
							...(hasDetails ? [] : (["paidWithoutDetails"] as const)),
							...(warning === null ? [] : (["seenAtBank"] as const)),
						],
						rows: ({ fields }) =>
							html`<div class="form-grid">${fields("date", "reference")}</div>${hasDetails ? null : fields("paidWithoutDetails")}${warning === null ? null : fields("seenAtBank")}`,
						send: "Mark as paid",
					}),
				),
			});
		case "paid":
			return ui.section({
				id: "payment",
				title: "Undo the payment",
				hint: "If the bank returned the money, or this statement was marked by mistake. The statement is then to be paid again, and the partner's people get a mail with the reason.",
				body: ui.padded(
					UNDO_FORM.show(c, {
						action: `${path}/undo`,
						send: html`<div>${ui.button({ label: "Undo payment", tone: "danger" })}</div>`,
					}),
				),
			});
		default:
			return state satisfies never;
	}
}

export async function pay(c: WebContext, deps: PageDeps): Promise<Response> {
	const statement = await findHere(c, deps);
	if (statement === undefined) return answerError(c, "not_found");
	const { paidWithoutDetails, seenAtBank, ...payment } = await PAY_FORM.read(c);
	const { public_id: id } = statement;
	const claims = {
		paidWithoutDetails: paidWithoutDetails === "on" ? [id] : [],
		isSeenAtBank: seenAtBank === "on",
	};
	const paid = await payStatements(deps, actorOf(c), [id], payment, claims);
	if (!paid.ok) return PAY_FORM.refuse(c, paid, () => showStatement(c, deps));
	return leadTo(c, pathOf(statement), "Marked as paid.");
}

export async function undo(c: WebContext, deps: PageDeps): Promise<Response> {
	const statement = await findHere(c, deps);
	if (statement === undefined) return answerError(c, "not_found");
	const { reason } = await UNDO_FORM.read(c);
	const undone = await undoPayment(deps, actorOf(c), statement.public_id, reason);
	if (!undone.ok) return UNDO_FORM.refuse(c, undone, () => showStatement(c, deps));
	return leadTo(c, pathOf(statement), "The payment was undone. The statement is to be paid.");
}

function pathOf({ partner_public_id: partnerId, public_id: id }: ListedStatement): string {
	return statementPath(partnerId, id);
}

/** Sends the sales of the statement as a CSV file, which proves its amounts. */
export async function downloadSales(c: WebContext, deps: PageDeps): Promise<Response> {
	const statement = await findHere(c, deps);
	if (statement === undefined) return answerError(c, "not_found");
	const lines = proofFile(deps.store.reader, statement, csvFormFor(c).separator);
	return answerCsv(c, deps, `statement-${statement.number}.csv`, lines);
}
