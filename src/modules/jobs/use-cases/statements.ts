// Issues the statements of a month. The lines come from the database and not from a file. Each line is a partner and a
// currency, with the amounts that a statement would have. The preview shows them, and applying the job issues them.

import { plainWords } from "#core/domain/fault.ts";
import { decimalCount, zeroIn } from "#core/domain/money.ts";
import { findPartnersByPublicId } from "#core/store/queries/partners.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { findPartnersWithDetails, listPartnersAfter } from "#modules/accounts/store/statements.ts";
import { checkMonth, type DueStatement, findDue } from "#modules/accounts/use-cases/due.ts";
import {
	type ExpectedStatement,
	type IssueOutcome,
	issueStatements,
} from "#modules/accounts/use-cases/issue.ts";
import { type Job, monthOfJob } from "../store/jobs.ts";
import {
	type ApplyDeps,
	type Cells,
	type CollectedLines,
	cellOf,
	type JobKind,
	type JobRow,
	type JobScope,
	MAX_IMPORTED_ROWS,
	needsFixing,
	needsNoChange,
	type RowVerdict,
} from "./kind.ts";

export const STATEMENTS: JobKind = {
	name: "statements",
	noun: ["statement", "statements"],
	hint: "Statements are prepared from the accounts of the partners, and not from a file.",
	columns: [
		{ name: "partnerId", means: "The partner's ID, ptn_…" },
		{ name: "partner", means: "The partner's name." },
		{ name: "month", means: "The month up to whose end entries are included." },
		{ name: "currency", means: "The currency of the amounts." },
		{ name: "opening", means: "The total of the last statement, if that was carried forward." },
		{ name: "earned", means: "Commissions of the sales that were approved." },
		{ name: "changed", means: "Changes after the approval, such as refunds." },
		{ name: "adjusted", means: "Bonuses and corrections that staff entered." },
		{ name: "total", means: "The sum of the four amounts." },
		{ name: "outcome", means: "pay, or carry_forward if the total is too small." },
		{ name: "entries", means: "The number of entries in the partner's account." },
	],
	example: "",
	advice: "An issued statement never changes. Each partner's people get a mail about it.",
	resultWords: { change: ["will_be_issued", "issued"], already: "already_issued", refused: "refused" },
	maxRows: MAX_IMPORTED_ROWS,
	// A batch has a fixed cost of about twenty statements. With a hundred entries for each partner, it takes some ten
	// milliseconds on PostgreSQL, where others can write meanwhile. On SQLite sales wait for it, so it is kept to a few
	// milliseconds.
	batchRows: 50,
	batchRowsOnSqlite: 4,
	makesPeople: false,
	keyOf: (cells) => `${cellOf(cells, "partnerId")} ${cellOf(cells, "currency")}`,
	collect: collectDue,
	judge: judgeLines,
	apply: applyStatements,
};

/** Returns the month of a job of statements as its query, which is also the query of the page that lists the month. */
export function queryOfMonth(month: string): string {
	return `?month=${month}`;
}

/**
 * Number of partners whose accounts one step adds up. With a hundred entries for each partner it takes some ten
 * milliseconds.
 */
const PARTNERS_AT_ONCE = 100;

/** Finds the statements that are due to the next partners, in the order of the partners. */
async function collectDue(
	db: Db,
	job: Pick<Job, "list_query" | "prepared_to">,
	nowMs: number,
): Promise<CollectedLines> {
	const month = await checkMonth(db, monthOfJob(job) ?? "", nowMs);
	// The month was over when the job was created. It is not over if staff have changed the time zone since then.
	if (!month.ok) return { lines: [], read: 0, preparedTo: job.prepared_to, isLast: true };
	const partners = await listPartnersAfter(db, job.prepared_to ?? 0, PARTNERS_AT_ONCE);
	const found = await findDue(db, month.value, partners);
	return {
		lines: found.flatMap(({ partner, due }) =>
			due === null ? [] : [cellsOf(month.value.month, partner, due)],
		),
		read: partners.length,
		preparedTo: partners.at(-1)?.id ?? job.prepared_to,
		isLast: partners.length < PARTNERS_AT_ONCE,
	};
}

const OUTCOMES = { pay: false, carry_forward: true } as const;

function cellsOf(month: string, { public_id, name }: Partner, due: DueStatement): Cells {
	const { isCarried, entries, ...amounts } = due;
	const outcome = isCarried ? "carry_forward" : "pay";
	return { ...amounts, partnerId: public_id, partner: name, month, outcome, entries: String(entries) };
}

/** Parses cells that `cellsOf` wrote. Returns null if the cells do not have that form. */
function readLine(cells: Cells): ExpectedStatement | null {
	const currency = cellOf(cells, "currency");
	const amounts = ["opening", "earned", "changed", "adjusted", "total"] as const;
	const isReadable = amounts.every((name) => {
		// A sum may have more digits than a single amount, so it is not parsed as one.
		const text = cellOf(cells, name);
		return /^-?\d+(\.\d+)?$/.test(text) && decimalCount(text) === decimalCount(zeroIn(currency));
	});
	const outcome = cellOf(cells, "outcome");
	if (!isReadable || (outcome !== "pay" && outcome !== "carry_forward")) return null;
	const [opening = "", earned = "", changed = "", adjusted = "", total = ""] = amounts.map((name) =>
		cellOf(cells, name),
	);
	const due = { currency, opening, earned, changed, adjusted, total, isCarried: OUTCOMES[outcome] };
	return {
		partnerId: cellOf(cells, "partnerId"),
		due: { ...due, entries: Number(cellOf(cells, "entries")) },
	};
}

/** Judges lines without reading the database, because their amounts were read from it just before. */
async function judgeLines(db: Db, _: JobScope, rows: readonly JobRow[]): Promise<RowVerdict[]> {
	const verdicts = rows.map(({ cells }) => {
		const expected = readLine(cells);
		return expected === null ? unreadable() : issueOf(expected);
	});
	return markUnpayable(db, rows, verdicts);
}

/**
 * Names the partner in the verdict on each statement that is to be paid, but cannot be paid because the
 * partner has no payment details.
 */
async function markUnpayable(
	db: Db,
	rows: readonly JobRow[],
	verdicts: readonly RowVerdict[],
): Promise<RowVerdict[]> {
	const ids = rows.map(({ cells }) => cellOf(cells, "partnerId"));
	const partners = await findPartnersByPublicId(db, [...new Set(ids)]);
	const having = await findPartnersWithDetails(
		db,
		partners.map(({ id }) => id),
	);
	const lacking = new Map(
		partners.flatMap(({ id, public_id, name }) =>
			having.has(id) ? [] : [[public_id, { id: public_id, name }] as const],
		),
	);
	return verdicts.map((verdict, index) =>
		verdict.kind === "change" && verdict.total?.outcome === "pay"
			? { ...verdict, lacksDetails: lacking.get(ids[index] ?? "") }
			: verdict,
	);
}

function unreadable(): RowVerdict {
	return needsFixing("Statements cannot be uploaded. Prepare them for a month.");
}

function issueOf({ due: { currency, total, isCarried } }: ExpectedStatement, number?: string): RowVerdict {
	const outcome = isCarried ? "carry" : "pay";
	return { kind: "change", detail: number ?? null, money: null, total: { outcome, currency, amount: total } };
}

async function applyStatements(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]> {
	const lines = rows.map(({ cells }) => ({ expected: readLine(cells), month: cellOf(cells, "month") }));
	const month = await checkMonth(trx, lines[0]?.month ?? "", deps.clock.nowMs());
	if (!month.ok) return rows.map(() => needsFixing(plainWords(month.fault)));
	const expected = lines.flatMap((line) =>
		line.expected === null || line.month !== month.value.month ? [] : [line.expected],
	);
	const issuer = { personId: deps.personId, jobId: deps.jobId };
	const outcomes = await issueStatements(trx, deps, month.value, expected, issuer);
	const verdicts = lines.map((line) => {
		const index = line.expected === null ? -1 : expected.indexOf(line.expected);
		const outcome = outcomes[index];
		return line.expected === null || outcome === undefined ? unreadable() : verdictOn(line.expected, outcome);
	});
	return markUnpayable(trx, rows, verdicts);
}

function verdictOn(expected: ExpectedStatement, outcome: IssueOutcome): RowVerdict {
	switch (outcome.kind) {
		case "issued":
			return issueOf(expected, outcome.statement.number);
		case "already":
			return needsNoChange(`Statement ${outcome.number} was issued for this month.`);
		case "later":
			return needsFixing(
				`Statement ${outcome.number} for ${outcome.month} was issued, which contains these entries.`,
			);
		case "changed":
			return needsFixing("The account changed after the preview. Prepare the month again.");
		default:
			return outcome satisfies never;
	}
}
