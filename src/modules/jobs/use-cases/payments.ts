// Marks statements as paid, from the bank's list of payments.

import { plainWords } from "#core/domain/fault.ts";
import { parseTypedAmount } from "#core/domain/money.ts";
import { findPartnersById } from "#core/store/queries/partners.ts";
import { findUncompared } from "#core/store/queries/restores.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import {
	findStatementsByNumber,
	lockStatements,
	type Statement,
} from "#modules/accounts/store/statements.ts";
import {
	findLackingDetails,
	judgePayments,
	type NewPayment,
	type Payment,
	parsePayment,
	writePayments,
} from "#modules/accounts/use-cases/payments.ts";
import {
	type ApplyDeps,
	type Cells,
	cellOf,
	type JobKind,
	type JobRow,
	type JobScope,
	MAX_IMPORTED_ROWS,
	needsFixing,
	type RowVerdict,
	refuseLine,
} from "./kind.ts";

export const PAYMENTS: JobKind = {
	name: "payments",
	noun: ["payment", "payments"],
	hint: "One line for each statement that the bank has paid. Its partner's people get a mail.",
	columns: [
		{ name: "number", means: "The number of the statement, such as 2026-0042.", aliases: "statement" },
		{ name: "date", means: "The day of the payment, such as 2026-11-18 or 18.11.2026.", aliases: "paid on" },
		{ name: "reference", means: "The bank's reference. It may be empty.", isOptional: true },
		{
			name: "amount",
			means: "The amount that was paid. If it is there, it must be the statement's total.",
			isOptional: true,
		},
		{ name: "currency", means: "The currency of the payment, such as EUR.", isOptional: true },
		{
			name: "partnerId",
			means: "The partner's ID, as in the payout file. If it is there, it must be the statement's.",
			isOptional: true,
		},
	],
	// The payout file has these further columns. They are ignored, so that people can add a date to the payout
	// file and upload it again.
	ignored: "payee, account, bic, country, partner",
	example: `number,date,reference
2026-0042,2026-11-18,SEPA 7731
2026-0043,2026-11-18,SEPA 7732`,
	advice:
		"Each partner's people get a mail about the payment. A payment can be undone on the statement's page.",
	resultWords: { change: ["will_be_paid", "paid"], already: "already", refused: "refused" },
	maxRows: MAX_IMPORTED_ROWS,
	batchRows: 100,
	makesPeople: false,
	sayRemarks: (lines, isApplied) =>
		isApplied
			? `${lines} recorded although the partner has no payment details.`
			: `${lines} of partners without payment details. The payout file does not have these statements, so check that they were really paid.`,
	confirmation: "The statements of partners without payment details were paid all the same.",
	keyOf: (cells) => cellOf(cells, "number") || null,
	judge: judgeLines,
	apply: applyPayments,
};

interface Meant {
	payment: Payment;
	statement: Statement;
}

async function judgeLines(
	db: Db,
	_: JobScope,
	rows: readonly JobRow[],
	nowMs: number,
): Promise<RowVerdict[]> {
	const meant = await readLines(db, rows, await findStatementsByNumber(db, numbersOf(rows)));
	return verdictsOn(db, meant, await findProblems(db, meant, nowMs));
}

async function applyPayments(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]> {
	const locked = await lockStatements(trx, "number", numbersOf(rows));
	const meant = await readLines(trx, rows, locked);
	const problems = await findProblems(trx, meant, deps.clock.nowMs());
	const payments = meant.flatMap((line): NewPayment[] => {
		const statement = "kind" in line ? undefined : locked.find(({ id }) => id === line.statement.id);
		if ("kind" in line || statement === undefined || problems.has(statement.id)) return [];
		return [{ statement, ...line.payment }];
	});
	await writePayments(trx, deps, payments, deps.personId);
	return verdictsOn(trx, meant, problems);
}

/**
 * Returns the verdicts on lines. The bank's list says what was paid, so a statement of a partner without payment details
 * is not refused. Its line gets a remark, and a person must confirm such lines.
 */
async function verdictsOn(
	db: Db,
	meant: readonly (RowVerdict | Meant)[],
	problems: ReadonlyMap<number, RowVerdict>,
): Promise<RowVerdict[]> {
	const statements = meant.flatMap((line) => ("kind" in line ? [] : [line.statement]));
	const lacking = new Set(await findLackingDetails(db, statements));
	return meant.map((line) => {
		if ("kind" in line) return line;
		const { statement } = line;
		const remark = lacking.has(statement) ? "The partner has no payment details." : null;
		return problems.get(statement.id) ?? paid(statement, remark);
	});
}

function numbersOf(rows: readonly JobRow[]): string[] {
	return [...new Set(rows.map(({ cells }) => cellOf(cells, "number")))];
}

/** Parses the lines. A line that cannot be parsed becomes a refusal. */
async function readLines(
	db: Db,
	rows: readonly JobRow[],
	statements: readonly Statement[],
): Promise<(RowVerdict | Meant)[]> {
	const byNumber = new Map(statements.map((statement) => [statement.number, statement]));
	const partners = await findPartnersById(db, [...new Set(statements.map(({ partner_id }) => partner_id))]);
	const isUncompared = (await findUncompared(db)) !== null;
	return rows.map(({ cells }): RowVerdict | Meant => {
		const number = cellOf(cells, "number");
		const statement = byNumber.get(number);
		if (statement === undefined) {
			const problem = number === "" ? "The number is missing." : `There is no statement “${number}”.`;
			return needsFixing(`${problem} Copy the number from the payout file.`, "unknown_statement");
		}
		const payment = parsePayment({ date: cellOf(cells, "date"), reference: cellOf(cells, "reference") });
		if (!payment.ok) return refuseLine(payment);
		const difference = findDifference(cells, statement);
		if (difference !== null) return needsFixing(difference, "wrong_amount");
		const other = findOtherPartner(cells, statement, partners.get(statement.partner_id));
		if (other !== null) return needsFixing(other);
		if (isUncompared && cellOf(cells, "amount") === "" && cellOf(cells, "partnerId") === "") {
			return needsFixing(NUMBER_ALONE);
		}
		return { payment: payment.value, statement };
	});
}

/** After a restore, months are issued again, and a number that was given before may belong to another statement. */
const NUMBER_ALONE =
	"The database was restored, so this number may belong to another statement now. Add the column amount or partnerId, as in the payout file.";

/** Returns why the statement is not the one that was paid, or null if the line names its partner or nobody. */
function findOtherPartner(cells: Cells, { number }: Statement, partner: Partner | undefined): string | null {
	const partnerId = cellOf(cells, "partnerId");
	if (partnerId === "" || partnerId === partner?.public_id) return null;
	return `Statement ${number} is for ${partner?.name} (${partner?.public_id}), and the line names the partner ${partnerId}. Look for that partner's statement.`;
}

/** Returns why the amount or the currency of a line does not fit its statement, or null if both fit or are missing. */
function findDifference(cells: Cells, { number, total, currency }: Statement): string | null {
	const [paidAmount, paidCurrency] = [cellOf(cells, "amount"), cellOf(cells, "currency").toUpperCase()];
	const asked = `The total of statement ${number} is ${total} ${currency}`;
	if (paidCurrency !== "" && paidCurrency !== currency) {
		return `${asked}, and the line is in ${paidCurrency}. Check the number and the currency.`;
	}
	if (paidAmount === "") return null;
	const amount = parseTypedAmount(paidAmount, currency, "amount");
	if (!amount.ok) return plainWords(amount.fault);
	return amount.value === total
		? null
		: `${asked}, and the line says ${amount.value}. Check the number, or pay the difference first, because a statement is paid as a whole.`;
}

async function findProblems(
	db: Db,
	meant: readonly (RowVerdict | Meant)[],
	nowMs: number,
): Promise<ReadonlyMap<number, RowVerdict>> {
	const lines = meant.filter((line) => "payment" in line);
	const payments = new Map(lines.map(({ statement, payment }) => [statement.id, payment]));
	const problems = await judgePayments(
		db,
		payments,
		lines.map(({ statement }) => statement),
		nowMs,
	);
	return new Map([...problems].map(([id, fault]) => [id, needsFixing(plainWords(fault))]));
}

function paid({ currency, total }: Statement, detail: string | null): RowVerdict {
	return { kind: "change", detail, money: null, total: { outcome: "paid", currency, amount: total } };
}
