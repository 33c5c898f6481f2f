// Marks statements as paid, and undoes that. A bank moves the money; here it is only recorded. A payment is an entry of
// the kind PAID with minus the statement's total, and a row in `payments`. Undoing it adds an entry with the opposite
// sign and deletes the row.

import { type Checked, checkAll, type Fault, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { decimalCount, formatMinor, minorUnits } from "#core/domain/money.ts";
import { type Actor, personIdOf, STAFF, transactAs } from "#core/people/actor.ts";
import type { Locked } from "#core/store/locked.ts";
import { noteAudit, noteAudits } from "#core/store/queries/audit.ts";
import { findPartnerById, findPartnersById } from "#core/store/queries/partners.ts";
import { findUncompared } from "#core/store/queries/restores.ts";
import type { Db } from "#core/store/store.ts";
import { checkPaidOn, parsePaidOn, parseReference } from "../domain/statement.ts";
import { composePaidMail, composeUndoneMail } from "../mail/statement-mail.ts";
import { insertPaidEntries } from "../store/entries.ts";
import {
	findPartnersWithDetails,
	findPayments,
	findStatementSettings,
	insertPayments,
	listPartnerAddressees,
	lockStatements,
	removePayment,
	type Statement,
} from "../store/statements.ts";
import type { InTransaction, StatementsDeps } from "./deps.ts";

export interface PaymentInput {
	/** Day of the payment as it was typed, such as 2026-11-18. */
	date: string;
	/** Reference of the bank. It may be empty. */
	reference: string;
}

/** Claims of a person about payments that the service would refuse without them. */
export interface PaymentClaims {
	/** Public ids of the statements that were paid although their partners have no payment details. */
	paidWithoutDetails?: readonly string[];
	/** True if the person has seen the payments on the bank's list, which is needed after a restore. */
	isSeenAtBank?: boolean;
}

export interface Payment {
	paidOn: string;
	reference: string;
}

export function parsePayment({ date, reference }: PaymentInput): Checked<Payment> {
	return checkAll({ paidOn: parsePaidOn(date), reference: parseReference(reference) });
}

/**
 * Marks statements as paid, all of them or none. `statementIds` are public ids. Resolves to the statements in the order
 * of their issue.
 */
export async function payStatements(
	deps: StatementsDeps,
	actor: Actor,
	statementIds: readonly string[],
	input: PaymentInput,
	{ paidWithoutDetails = [], isSeenAtBank = false }: PaymentClaims = {},
): Promise<Result<readonly Statement[]>> {
	const payment = parsePayment(input);
	if (!payment.ok) return payment;
	const ids = [...new Set(statementIds)];
	if (ids.length === 0) {
		return refuse(
			"nothing_selected",
			"Nothing is selected. Select statements first, then mark them as paid.",
		);
	}
	const paid = await transactAs<readonly Statement[]>(deps.store, actor, STAFF, async (trx) => {
		const statements = await lockStatements(trx, "public_id", ids);
		if (statements.length < ids.length) return refuseUnknown();
		const isUncompared = (await findUncompared(trx)) !== null;
		if (isUncompared && !isSeenAtBank) {
			const detail =
				"The database was restored, so these statements may have been paid already. Find the payments on the bank's list, and confirm that.";
			return refuse("payments_not_compared", detail, "seenAtBank");
		}
		const wanted = new Map(statements.map(({ id }) => [id, payment.value]));
		const problems = await judgePayments(trx, wanted, statements, deps.clock.nowMs());
		const [problem] = problems.values();
		if (problem !== undefined) return { ok: false, fault: problem };
		const lacking = await findLackingDetails(trx, statements);
		const unclaimed = lacking.filter(({ public_id }) => !paidWithoutDetails.includes(public_id));
		if (unclaimed.length > 0) return refuseWithoutDetails(unclaimed);
		const payments = statements.map((statement) => ({ statement, ...payment.value }));
		await writePayments(trx, deps, payments, personIdOf(actor));
		return succeed(statements);
	});
	deps.mails.wake();
	return paid;
}

/**
 * Finds the statements whose partners have no payment details. Such a statement has no account to which it
 * can have been paid, so a person must claim that it was paid.
 */
export async function findLackingDetails<One extends Pick<Statement, "partner_id">>(
	db: Db,
	statements: readonly One[],
): Promise<One[]> {
	const found = await findPartnersWithDetails(
		db,
		statements.map(({ partner_id }) => partner_id),
	);
	return statements.filter(({ partner_id }) => !found.has(partner_id));
}

/** Maximum number of statements that a refusal names. */
const MAX_NAMED = 5;

function refuseWithoutDetails(statements: readonly Statement[]): ReturnType<typeof refuse> {
	const [first, ...others] = statements.slice(0, MAX_NAMED).map(({ number }) => number);
	const rest = statements.length - MAX_NAMED;
	const named = [first, ...others].join(", ") + (rest > 0 ? ` and ${rest} more` : "");
	const [subject, were] = others.length === 0 ? ["Statement", "it was"] : ["Statements", "they were"];
	const detail = `${subject} ${named}: the partner has no payment details. Ask for them first, or confirm that ${were} paid all the same.`;
	return refuse("no_payment_details", detail, "paidWithoutDetails");
}

function refuseUnknown(): ReturnType<typeof refuse> {
	return refuse("unknown_statement", "There is no such statement. Look at the list again.");
}

/** Returns why statements cannot be paid, by statement id. A statement without a problem is missing. */
export async function judgePayments(
	db: Db,
	/** Payments by the ids of their statements. */
	payments: ReadonlyMap<number, Payment>,
	statements: readonly Statement[],
	nowMs: number,
): Promise<ReadonlyMap<number, Fault>> {
	const ids = statements.map(({ id }) => id);
	const paidOn = new Map((await findPayments(db, ids)).map((paid) => [paid.statement_id, paid.paid_on]));
	const { time_zone: zone } = await findStatementSettings(db);
	return new Map(
		statements.flatMap((statement) => {
			const payment = payments.get(statement.id);
			if (payment === undefined) return [];
			const judged = judge(statement, paidOn.get(statement.id), payment, zone, nowMs);
			return judged.ok ? [] : [[statement.id, judged.fault] as const];
		}),
	);
}

function judge(
	statement: Statement,
	paidBefore: string | undefined,
	{ paidOn }: Payment,
	zone: string,
	nowMs: number,
): Result<string> {
	const { number } = statement;
	if (statement.is_carried === 1) {
		const detail = `Statement ${number} was carried forward, so nothing is paid for it. Its total is part of the partner's next statement.`;
		return refuse("statement_carried_forward", detail);
	}
	if (paidBefore !== undefined) {
		const detail = `Statement ${number} was paid on ${paidBefore} already. If that was wrong, undo that payment first.`;
		return refuse("statement_already_paid", detail);
	}
	return checkPaidOn(paidOn, statement, zone, nowMs);
}

export interface NewPayment extends Payment {
	statement: Locked<Statement>;
}

/** Writes payments that were judged in the same transaction. */
export async function writePayments(
	trx: Db,
	deps: InTransaction,
	payments: readonly NewPayment[],
	personId: number | null,
): Promise<void> {
	const nowMs = deps.clock.nowMs();
	const entryIds = await insertPaidEntries(
		trx,
		payments.map(({ statement, reference }) => ({
			...paidEntry(statement, -1n),
			person_id: personId,
			reason: reference === "" ? null : reference,
			at_ms: nowMs,
		})),
	);
	await insertPayments(
		trx,
		payments.map(({ statement: { id }, paidOn, reference }) => ({
			statement_id: id,
			entry_id: entryIds.get(id) ?? 0,
			paid_on: paidOn,
			reference,
			person_id: personId,
			at_ms: nowMs,
		})),
	);
	const lacking = new Set(
		await findLackingDetails(
			trx,
			payments.map(({ statement }) => statement),
		),
	);
	const seen = (await findUncompared(trx)) === null ? "" : ", found on the bank's list after a restore";
	const notes = payments.map(({ statement, paidOn, reference }) => {
		const { number, total, currency } = statement;
		const remark = `${lacking.has(statement) ? ", although there are no payment details" : ""}${seen}`;
		return {
			personId,
			action: "statement.paid" as const,
			subject: number,
			detail: `${total} ${currency} on ${paidOn}${reference === "" ? "" : `, reference ${reference}`}${remark}`,
		};
	});
	await noteAudits(trx, notes, nowMs);
	if (deps.mails.isOn) await tellPaid(trx, deps, payments);
}

function paidEntry({ id, partner_id, total, currency }: Statement, sign: bigint) {
	const amount = formatMinor(sign * minorUnits(total), decimalCount(total));
	return { partner_id, programme_id: null, conversion_id: null, amount, currency, statement_id: id };
}

async function tellPaid(
	trx: Db,
	{ mails, publicUrl }: InTransaction,
	payments: readonly NewPayment[],
): Promise<void> {
	const ids = [...new Set(payments.map(({ statement }) => statement.partner_id))];
	const partners = await findPartnersById(trx, ids);
	const readers = Map.groupBy(await listPartnerAddressees(trx, ids), ({ partner_id }) => partner_id);
	for (const { statement, paidOn, reference } of payments) {
		const partner = partners.get(statement.partner_id);
		if (partner === undefined) continue;
		const paid = { ...statement, paidOn, reference };
		for (const { email } of readers.get(partner.id) ?? []) {
			await mails.enqueue(trx, composePaidMail(email, partner, paid, publicUrl));
		}
	}
}

const MAX_REASON_LENGTH = 200;

/** Undoes the payment of a statement, which is then to be paid again. Both entries stay in the partner's account. */
export async function undoPayment(
	deps: StatementsDeps,
	actor: Actor,
	statementId: string,
	reasonText: string,
): Promise<Result<Statement>> {
	const reason = parseReason(reasonText);
	if (!reason.ok) return reason;
	const undone = await transactAs<Statement>(deps.store, actor, STAFF, async (trx) => {
		const [statement] = await lockStatements(trx, "public_id", [statementId]);
		if (statement === undefined) return refuseUnknown();
		const [payment] = await findPayments(trx, [statement.id]);
		if (payment === undefined) {
			const detail = `Statement ${statement.number} is not marked as paid, so there is nothing to undo.`;
			return refuse("statement_not_paid", detail);
		}
		const nowMs = deps.clock.nowMs();
		const personId = personIdOf(actor);
		const entry = { ...paidEntry(statement, 1n), person_id: personId, reason: reason.value, at_ms: nowMs };
		await insertPaidEntries(trx, [entry]);
		await removePayment(trx, statement);
		const detail = `paid on ${payment.paid_on}: ${reason.value}`;
		const note = { personId, action: "payment.undone", subject: statement.number, detail } as const;
		await noteAudit(trx, note, nowMs);
		if (deps.mails.isOn) await tellUndone(trx, deps, statement, payment.paid_on, reason.value);
		return succeed(statement);
	});
	deps.mails.wake();
	return undone;
}

async function tellUndone(
	trx: Db,
	{ mails, publicUrl }: InTransaction,
	statement: Statement,
	paidOn: string,
	reason: string,
): Promise<void> {
	const partner = await findPartnerById(trx, statement.partner_id);
	if (partner === undefined) return;
	for (const { email } of await listPartnerAddressees(trx, [partner.id])) {
		await mails.enqueue(trx, composeUndoneMail(email, partner, { ...statement, paidOn, reason }, publicUrl));
	}
}

/** Parses the reason that a person must give, such as for an adjustment. */
export function parseReason(text: string): Result<string> {
	const reason = text.trim();
	const isGood = reason !== "" && reason.length <= MAX_REASON_LENGTH && !/\p{Cc}/u.test(reason);
	if (isGood) return succeed(reason);
	return refuse(
		"invalid_field",
		`Say why, in one line of at most ${MAX_REASON_LENGTH} characters.`,
		"reason",
	);
}
