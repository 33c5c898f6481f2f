// Issues statements, in the transaction of a batch. The network's row and the counter of the year's numbers are locked
// first, so that one transaction at a time issues statements and the numbers have no gaps. A statement is issued only
// with exactly the amounts that a person has seen in the preview.

import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { noteAudits } from "#core/store/queries/audit.ts";
import { findPartnersByPublicId } from "#core/store/queries/partners.ts";
import { findProgrammeNames } from "#core/store/queries/programmes.ts";
import { sealingKeyIn } from "#core/store/queries/sealing-key.ts";
import type { Db } from "#core/store/store.ts";
import { monthIn, writeNumber } from "../domain/statement.ts";
import { composeIssuedMail } from "../mail/statement-mail.ts";
import {
	forceKeyLookups,
	insertStatementLines,
	insertStatements,
	listPartnerAddressees,
	lockNumbers,
	type Statement,
	saveLastNumber,
	takeOpenEntries,
} from "../store/statements.ts";
import type { InTransaction } from "./deps.ts";
import { type DueMonth, type DueStatement, findDue, type PartnerDue, sumKind } from "./due.ts";
import { partiesOf, sealParties } from "./parties.ts";
import { openDetails } from "./payment-details.ts";

/** A statement as the preview showed it. */
export interface ExpectedStatement {
	/** Public id of the partner. */
	partnerId: string;
	due: DueStatement;
}

export type IssueOutcome =
	| { kind: "issued"; statement: Statement }
	/** The month's statement exists already. */
	| { kind: "already"; number: string }
	/** A statement of a later month exists, which contains the entries of this one. */
	| { kind: "later"; number: string; month: string }
	/** The entries, the opening balance or the minimum payout changed after the preview. */
	| { kind: "changed" };

export interface Issuer {
	personId: number | null;
	jobId: number | null;
}

interface Accepted extends Pick<PartnerDue, "partner" | "sums"> {
	due: DueStatement;
}

/**
 * Issues the statements that are still due as expected, and returns the outcomes in the order of `expected`. No two of
 * them may be for the same partner and currency. The caller must call `mails.wake` after the commit.
 */
export async function issueStatements(
	trx: Db,
	deps: InTransaction,
	month: DueMonth,
	expected: readonly ExpectedStatement[],
	issuer: Issuer,
): Promise<IssueOutcome[]> {
	await forceKeyLookups(trx);
	const nowMs = deps.clock.nowMs();
	const year = Number(monthIn(nowMs, month.settings.time_zone).slice(0, "2026".length));
	const numbers = await lockNumbers(trx, year);
	// The balances are read after the lock was taken, so no other transaction can issue a statement meanwhile.
	const ids = [...new Set(expected.map(({ partnerId }) => partnerId))];
	const present = await findDue(trx, month, await findPartnersByPublicId(trx, ids));
	const judged = expected.map(({ partnerId, due }): IssueOutcome | Accepted => {
		const found = present.find(
			({ partner, currency }) => partner.public_id === partnerId && currency === due.currency,
		);
		if (found?.issued?.month === month.month) return { kind: "already", number: found.issued.number };
		if (found?.issued) return { kind: "later", number: found.issued.number, month: found.issued.month };
		if (!found?.due || !isSame(found.due, due)) return { kind: "changed" };
		return { partner: found.partner, sums: found.sums, due };
	});
	const accepted = judged.filter((one) => "due" in one);
	const issued = await writeAll(trx, deps, { month, accepted, issuer, year, last: numbers.last, nowMs });
	if (issued.length > 0) await saveLastNumber(trx, numbers, numbers.last + issued.length);
	const written = issued.values();
	return judged.map((one) => {
		if (!("due" in one)) return one;
		const { value: statement } = written.next();
		if (statement === undefined) throw new Error("a statement was not returned");
		return { kind: "issued", statement };
	});
}

const COMPARED = ["opening", "earned", "changed", "adjusted", "total", "isCarried", "entries"] as const;

/** Returns whether nothing changed. Entries are never removed, so their number shows whether one was added. */
function isSame(one: DueStatement, other: DueStatement): boolean {
	return COMPARED.every((field) => one[field] === other[field]);
}

interface Writing {
	month: DueMonth;
	accepted: readonly Accepted[];
	issuer: Issuer;
	year: number;
	/** Highest statement number that was given in this year so far. */
	last: number;
	nowMs: number;
}

async function writeAll(trx: Db, deps: InTransaction, writing: Writing): Promise<Statement[]> {
	const { month, accepted, issuer, nowMs } = writing;
	if (accepted.length === 0) return [];
	const details = await openDetails(
		trx,
		deps,
		accepted.map(({ partner }) => partner.id),
	);
	const key = await sealingKeyIn(trx, deps.keyRing);
	const rows = accepted.map(({ partner, due, sums }, index) => {
		const publicId = makeId("stm", nowMs, deps.random.bytes(ID_RANDOM_BYTES));
		const seq = writing.last + index + 1;
		const { currency, opening, earned, changed, adjusted, total, isCarried } = due;
		const parties = partiesOf(month.settings, partner, details.get(partner.id) ?? null);
		return {
			...{ public_id: publicId, number: writeNumber(writing.year, seq), year: writing.year, seq },
			...{ partner_id: partner.id, currency, month: month.month, time_zone: month.settings.time_zone },
			...{ opening, earned, changed, adjusted, total },
			is_carried: isCarried ? (1 as const) : (0 as const),
			first_entry_id: sums.length === 0 ? null : Math.min(...sums.map(({ firstEntryId }) => firstEntryId)),
			last_entry_id: sums.length === 0 ? null : Math.max(...sums.map(({ lastEntryId }) => lastEntryId)),
			sealed_parties: sealParties(key, deps, publicId, parties),
			job_id: issuer.jobId,
			issued_at_ms: nowMs,
			issued_by: issuer.personId,
		};
	});
	const statements = (await insertStatements(trx, rows)).sort((one, other) => one.seq - other.seq);
	const moved = await takeOpenEntries(trx, statements, month.endMs);
	const entries = accepted.reduce((count, { due }) => count + due.entries, 0);
	// A transaction that began before the end of the month may have committed an entry just now. The batch is then rolled
	// back. When it is tried again, the line of that partner is refused because the account changed.
	if (moved !== entries) throw new Error("an entry was written while its statement was issued");
	await writeLines(trx, accepted, statements);
	await tellIssued(trx, deps, writing, statements);
	return statements;
}

/** Writes a line for each programme of each statement. `statements` are in the order of `accepted`. */
async function writeLines(
	trx: Db,
	accepted: readonly Accepted[],
	statements: readonly Statement[],
): Promise<void> {
	const ids = accepted.flatMap(({ sums }) => sums.flatMap(({ programmeId }) => programmeId ?? []));
	const names = await findProgrammeNames(trx, [...new Set(ids)]);
	const lines = statements.flatMap(({ id, currency }, index) => {
		const byProgramme = Map.groupBy(accepted[index]?.sums ?? [], ({ programmeId }) => programmeId);
		return [...byProgramme].flatMap(([programmeId, sums]) => {
			const earned = sums.filter(({ kind }) => kind === "EARNED");
			return programmeId === null
				? []
				: {
						statement_id: id,
						programme_id: programmeId,
						programme_name: names.get(programmeId) ?? "",
						sales: earned.reduce((count, sum) => count + sum.count, 0),
						earned: sumKind(sums, currency, "EARNED"),
						changed: sumKind(sums, currency, "CHANGED"),
					};
		});
	});
	await insertStatementLines(trx, lines);
}

async function tellIssued(
	trx: Db,
	deps: InTransaction,
	{ accepted, issuer, nowMs }: Writing,
	statements: readonly Statement[],
): Promise<void> {
	const partners = new Map(accepted.map(({ partner }) => [partner.id, partner]));
	const notes = statements.map(({ partner_id, number, total, currency, is_carried }) => ({
		personId: issuer.personId,
		action: "statement.issued" as const,
		subject: number,
		detail: `${partners.get(partner_id)?.name}: ${total} ${currency}${is_carried === 1 ? ", carried forward" : ""}`,
	}));
	await noteAudits(trx, notes, nowMs);
	if (!deps.mails.isOn) return;
	const readers = await listPartnerAddressees(trx, [...partners.keys()]);
	const readersOf = Map.groupBy(readers, ({ partner_id }) => partner_id);
	for (const statement of statements) {
		const partner = partners.get(statement.partner_id);
		if (partner === undefined) continue;
		for (const { email } of readersOf.get(partner.id) ?? []) {
			await deps.mails.enqueue(trx, composeIssuedMail(email, partner, statement, deps.publicUrl));
		}
	}
}
