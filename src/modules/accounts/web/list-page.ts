// The page /statements, for staff. They prepare the statements of a month, see which ones are to be paid, and mark them as
// paid.

import type { StatusCode } from "hono/utils/http-status";
import * as z from "zod";
import type { Fault } from "#core/domain/fault.ts";
import { formatMinor } from "#core/domain/money.ts";
import { dayIn, sayMonth } from "#core/domain/zone-day.ts";
import { ask } from "#core/web/ask.ts";
import { answerCsv, csvFormFor } from "#core/web/conversions/csv-answer.ts";
import { digitsOf } from "#core/web/conversions/list-query.ts";
import { choice } from "#core/web/filters.ts";
import { declareForm, readTextFields } from "#core/web/form.ts";
import { type Listed, readRows, type Selection, showList } from "#core/web/list.ts";
import { actorOf, answerPage, leadTo, type PageDeps, type WebContext } from "#core/web/page.ts";
import * as paths from "#core/web/paths.ts";
import { statementJobPath, statementPath, withQuery } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { listJobs } from "#modules/jobs/store/jobs.ts";
import { prepareStatements } from "#modules/jobs/use-cases/prepare-statements.ts";
import { jobTable } from "#modules/jobs/web/upload-page.ts";
import { monthBefore, monthIn, STATEMENT_STATES } from "../domain/statement.ts";
import {
	countToPay,
	findUnpayable,
	type ListedStatement,
	listStatementMonths,
	listStatements,
	type StatementSum,
	sumStatements,
} from "../store/statements.ts";
import { confirmCompared, refuseUncompared } from "../use-cases/compared-payments.ts";
import { payoutFile } from "../use-cases/files.ts";
import { type PaymentInput, payStatements } from "../use-cases/payments.ts";
import { COMPARED_FORM, comparisonSection, isUncompared } from "./restored.ts";
import { detailsLinks, issuedOn, noDetailsMark, STATE_WORDS, stateCell, stateOf } from "./statement-ui.ts";

/** Number of months for which statements can be prepared. Older entries are part of a later month's statements. */
const MONTHS_OFFERED = 12;
/** Number of months in the filter of the list, which are ten years. */
const MONTHS_LISTED = 120;
const ALL_MONTHS = "all";

const PREPARE_FORM = declareForm({
	month: { label: "Month", options: [], isRequired: true },
});

/** Reads the filters of the list from the address of the page. By default, the list has the newest month. */
async function askStatements(c: WebContext, { store }: PageDeps) {
	const months = await listStatementMonths(store.reader, MONTHS_LISTED);
	const [newest] = months;
	const asked = ask(c, {
		path: paths.STATEMENTS_PATH,
		filters: {
			month: choice("Month", "Newest month", [ALL_MONTHS, ...months], (month) =>
				month === ALL_MONTHS ? "All months" : sayMonth(month),
			),
			state: choice("State", "Any", STATEMENT_STATES, (state) => STATE_WORDS[state]),
		},
		defaults: newest === undefined ? {} : { month: newest },
		// The prefix keeps ids unique, because the form above the list has a field with the same name.
		idPrefix: "list-",
	});
	const { month, state } = asked.query;
	return {
		asked,
		filter: { month: month === ALL_MONTHS ? undefined : month, state },
		hasAny: newest !== undefined,
	};
}

type AskedStatements = Awaited<ReturnType<typeof askStatements>>;

/** A form of payments that was refused. The page shows it again as it was sent. */
interface RefusedPayment {
	fault: Fault;
	/** Public ids of the statements that were selected. */
	ticked: readonly string[];
	typed: PaymentInput;
}

export async function showStatements(
	c: WebContext,
	deps: PageDeps,
	refused?: RefusedPayment,
): Promise<Response> {
	const read = await askStatements(c, deps);
	const { asked, filter, hasAny } = read;
	const { month, state } = filter;
	const page = await readRows(deps, asked, "statements", (at) =>
		listStatements(deps.store.reader, filter, at),
	);
	// Adding up the statements of all months could take long, and nobody pays by that sum.
	const sums = month === undefined ? [] : await sumStatements(deps.store.reader, { month });
	const list = showList<ListedStatement>({
		asked,
		page,
		noun: "statement",
		caption: "Statements, the newest first",
		columns: COLUMNS,
		isNew: !hasAny,
		none: {
			title: "No statements yet",
			text: "When a month is over, prepare its statements above, check the preview, and issue them.",
		},
		sums: sumsOf(sums.filter((sum) => state === undefined || sum.state === state)),
		selection: await selectionOf(c, deps, read, page, refused),
	});
	const title = "Statements";
	const comparison = await comparisonSection(c, deps);
	return answerPage(c, {
		title,
		active: "statements",
		status: asked.status,
		body: [
			ui.pageHeader({
				title,
				hint: "What you owe partners, month by month, and what you have paid.",
				actions: [
					ui.linkButton({ label: "Upload payments", href: paths.PAYMENTS_PATH }),
					hasAny && comparison === null
						? ui.linkButton({
								label: "Payout file",
								href: withQuery(paths.PAYOUT_FILE_PATH, { month: month ?? ALL_MONTHS }),
							})
						: null,
				],
			}),
			comparison,
			prepareSection(c, deps),
			await jobsSection(c, deps),
			asked.isUnderstood ? await unpaidMessages(deps, read, sums) : null,
			html`<div class="card" id="list"><h2 class="visually-hidden">The list</h2>${list}</div>`,
		],
	});
}

function prepareSection(c: WebContext, { clock }: PageDeps): Html {
	const { timeZone: zone } = c.get("network");
	const present = monthIn(clock.nowMs(), zone);
	const months = [present];
	while (months.length < MONTHS_OFFERED) months.push(monthBefore(months.at(-1) ?? present));
	const options = months.map((month) => ({
		value: month,
		label: month === present ? `${sayMonth(month)} (not over yet)` : sayMonth(month),
	}));
	return ui.section({
		id: "prepare",
		title: "Prepare statements",
		hint: `Collects everything up to the end of the month (${zone}) that no statement contains yet. You see a preview first, and nothing is final before you issue it.`,
		body: ui.padded(
			PREPARE_FORM.show(c, {
				action: `${paths.STATEMENTS_PATH}/prepare`,
				values: { month: months[1] },
				looks: { month: { options } },
				rows: ({ fields }) =>
					html`<div class="row-end">${fields()}${ui.button({ label: "Prepare statements", tone: "primary" })}</div>`,
				send: html``,
			}),
		),
	});
}

/** Maximum number of partners without payment details that the page names. */
const PARTNERS_NAMED = 10;

/**
 * Says which statements the payout file leaves out, and how many of other months are to be paid. The list and the file
 * have the newest month unless another one is chosen, so older statements would be forgotten.
 */
async function unpaidMessages(
	{ store }: PageDeps,
	{ filter: { month }, hasAny }: AskedStatements,
	sums: readonly StatementSum[],
): Promise<Content> {
	if (!hasAny) return null;
	const { statements, partners, partnerCount } = await findUnpayable(store.reader, month, PARTNERS_NAMED);
	const more = partnerCount - partners.length;
	const named = html`${detailsLinks(partners.map(({ public_id: id, name }) => ({ id, name })))}${more > 0 ? ` and ${ui.countOf(more, "other")}` : ""}`;
	const leftOut =
		statements === 0
			? null
			: ui.message(
					"warn",
					html`The payout file leaves out ${ui.countOf(statements, "statement")}, because ${named} ${partnerCount === 1 ? "has" : "have"} no payment details.`,
				);
	const here = sums.reduce((total, { state, count }) => total + (state === "to_pay" ? count : 0), 0);
	const others = month === undefined ? 0 : (await countToPay(store.reader)) - here;
	const href = withQuery(paths.STATEMENTS_PATH, { month: ALL_MONTHS, state: "to_pay" });
	const older =
		others === 0
			? null
			: ui.message(
					"info",
					html`${ui.countOf(others, "statement")} of other months ${others === 1 ? "is" : "are"} to be paid too. <a href="${href}">Show all that are to be paid</a>`,
				);
	return [leftOut, older];
}

/** Maximum number of unfinished jobs on the page. */
const JOBS_SHOWN = 10;

/** Lists the previews that nobody has applied or discarded yet, and the jobs that are under way. */
async function jobsSection(c: WebContext, deps: PageDeps): Promise<Html | null> {
	const jobs = await listJobs(deps.store.db, null, ["statements", "payments"], JOBS_SHOWN);
	const unfinished = jobs.filter(({ state, lines }) => state !== "done" && lines === "kept");
	if (unfinished.length === 0) return null;
	return ui.section({
		id: "jobs",
		title: "Not finished yet",
		hint: "Months that were prepared, and files of payments that were uploaded. Open them to continue.",
		body: jobTable(c, deps, unfinished, { hasKinds: true, empty: null }),
	});
}

export async function prepare(c: WebContext, deps: PageDeps): Promise<Response> {
	const { month } = await PREPARE_FORM.read(c);
	const prepared = await prepareStatements(deps, actorOf(c), month);
	if (!prepared.ok) return PREPARE_FORM.refuse(c, prepared, () => showStatements(c, deps));
	deps.jobs.wake();
	return c.redirect(statementJobPath(prepared.value.public_id), 303);
}

/**
 * Returns the form that marks the selected statements as paid, or null if none of them is to be paid. A refused form is
 * shown again as it was sent.
 */
async function selectionOf(
	c: WebContext,
	deps: PageDeps,
	{ asked }: AskedStatements,
	{ rows }: Listed<ListedStatement>,
	refused: RefusedPayment | undefined,
): Promise<Selection<ListedStatement> | null> {
	const ticked = refused?.ticked ?? [];
	const lacksDetails = refused?.fault.code === "no_payment_details";
	const unclaimed = rows.filter(
		({ public_id, has_details }) => lacksDetails && has_details === 0 && ticked.includes(public_id),
	);
	// The list may have changed after the form was shown. If the box is missing, the refusal is shown above the
	// page.
	if (lacksDetails && unclaimed.length === 0) c.set("flash", { tone: "bad", text: refused.fault.detail });
	if (!rows.some(isToPay)) return null;
	const today = dayIn(deps.clock.nowMs(), c.get("network").timeZone);
	return {
		// The filters and the position are part of the address, so that a refused form is shown with the same rows.
		action: asked.here(`${paths.STATEMENTS_PATH}/pay`),
		name: "statement",
		box: (statement) => {
			if (!isToPay(statement)) return null;
			const { public_id: value, number } = statement;
			return { value, label: `Select statement ${number}`, isTicked: ticked.includes(value) };
		},
		below: {
			hint: "Select statements that were paid.",
			bar: [
				claimBox(unclaimed, refused),
				(await isUncompared(deps)) ? seenBox(refused) : null,
				html`<div class="payment-bar">${paymentFields(today, refused)}${ui.button({ label: "Mark as paid", tone: "primary" })}</div>`,
			],
		},
	};
}

function paymentFields(today: string, refused: RefusedPayment | undefined): readonly Html[] {
	const errorAt = (name: keyof PaymentInput) =>
		refused?.fault.field === name ? { error: refused.fault.detail, hasFocus: true } : {};
	return [
		ui.textField({
			name: "date",
			label: "Paid on",
			type: "date",
			value: refused?.typed.date ?? today,
			isRequired: true,
			...errorAt("date"),
		}),
		ui.textField({
			name: "reference",
			label: "Reference (optional)",
			autocomplete: "off",
			value: refused?.typed.reference ?? "",
			...errorAt("reference"),
		}),
	];
}

/** Returns the box with which a person confirms that these statements were paid without payment details. */
function claimBox(unclaimed: readonly ListedStatement[], refused: RefusedPayment | undefined): Html | null {
	if (unclaimed.length === 0) return null;
	const numbers = unclaimed.map(({ number }) => number).join(", ");
	const box = ui.checkbox({
		name: "paidWithoutDetails",
		value: unclaimed.map(({ public_id }) => public_id).join(" "),
		label: `${numbers} ${unclaimed.length === 1 ? "was" : "were"} paid although there are no payment details`,
		error: refused?.fault.detail,
	});
	return html`<div class="claim">${box}</div>`;
}

/** Returns the box with which a person confirms, after a restore, that the bank's list shows the payments. */
function seenBox(refused: RefusedPayment | undefined): Html {
	const error = refused?.fault.field === "seenAtBank" ? refused.fault.detail : undefined;
	const box = ui.checkbox({ name: "seenAtBank", label: "The bank's list shows these payments", error });
	return html`<div class="claim">${box}</div>`;
}

function isToPay(statement: ListedStatement): boolean {
	return stateOf(statement) === "to_pay";
}

const COLUMNS: readonly ui.Column<ListedStatement>[] = [
	{
		title: "Number",
		namesRow: true,
		cell: ({ number, public_id: id, partner_public_id: partnerId }) =>
			html`<a class="nowrap" href="${statementPath(partnerId, id)}">${number}</a>`,
	},
	{
		title: "Partner",
		cell: ({ partner_name: name, partner_public_id: partnerId }) =>
			html`<a class="break" href="${paths.partnerStatementsPath(partnerId)}">${name}</a>`,
	},
	{ title: "Period", cell: ({ month }) => html`<span class="nowrap">${sayMonth(month)}</span>` },
	{ title: "Total", isNumber: true, cell: ({ total, currency }) => ui.amount(total, currency) },
	{
		title: "State",
		cell: (statement) =>
			html`${stateCell(statement)}${isToPay(statement) && statement.has_details === 0 ? noDetailsMark(statement.partner_public_id) : null}`,
	},
	{ title: "Issued", cell: issuedOn },
];

function sumsOf(sums: readonly StatementSum[]): Content {
	if (sums.length === 0) return null;
	return sums.map(
		({ state, currency, count, minor }) =>
			html`<span>${STATE_WORDS[state]}: ${ui.countOf(count, "statement")}, ${ui.amount(formatMinor(minor, digitsOf(currency)), currency)}</span>`,
	);
}

const TICKED = z.union([z.string().transform((id) => [id]), z.array(z.string())]).catch([]);

export async function pay(c: WebContext, deps: PageDeps): Promise<Response> {
	const { paidWithoutDetails, seenAtBank, ...typed } = await readTextFields(c, [
		"date",
		"reference",
		"paidWithoutDetails",
		"seenAtBank",
	]);
	const ticked = TICKED.parse((await c.req.parseBody({ all: true }))["statement"]);
	const claims = {
		paidWithoutDetails: paidWithoutDetails.split(" "),
		isSeenAtBank: seenAtBank === "on",
	};
	const paid = await payStatements(deps, actorOf(c), ticked, typed, claims);
	if (!paid.ok) {
		const { fault } = paid;
		c.status(fault.httpStatus as StatusCode);
		if (fault.field === undefined) c.set("flash", { tone: "bad", text: fault.detail });
		return showStatements(c, deps, { fault, ticked, typed });
	}
	const path = `${paths.STATEMENTS_PATH}${new URL(c.req.url).search}`;
	return leadTo(c, path, `${ui.countOf(paid.value.length, "statement")} marked as paid.`);
}

export async function downloadPayouts(c: WebContext, deps: PageDeps): Promise<Response> {
	const { asked, filter } = await askStatements(c, deps);
	if (!asked.isUnderstood) return showStatements(c, deps);
	const compared = await refuseUncompared(deps.store.db);
	if (!compared.ok) {
		c.status(compared.fault.httpStatus as StatusCode);
		c.set("flash", { tone: "bad", text: compared.fault.detail });
		return showStatements(c, deps);
	}
	const name = `payouts-${filter.month ?? "all"}.csv`;
	const { month } = filter;
	return answerCsv(c, deps, name, payoutFile(deps.store.reader, deps, { month }, csvFormFor(c)));
}

/** Records that a person has compared payments with the bank after a restore. */
export async function confirmComparison(c: WebContext, deps: PageDeps): Promise<Response> {
	const { compared, lastId } = await COMPARED_FORM.read(c);
	const confirmed = await confirmCompared(deps, actorOf(c), Number(lastId) || 0, compared === "on");
	if (!confirmed.ok) return COMPARED_FORM.refuse(c, confirmed, () => showStatements(c, deps));
	return leadTo(c, paths.STATEMENTS_PATH, "Confirmed. The payout file is here again.");
}
