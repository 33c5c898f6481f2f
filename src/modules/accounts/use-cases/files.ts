// CSV files about statements. The proof has one line for each entry of a statement, and its sums are those of the
// statement. The payout file has one line for each statement that is to be paid, for the bank.

import {
	CSV_BATCH_ROWS,
	type CsvColumns,
	type CsvForm,
	type CsvSeparator,
	csvFile,
} from "#core/conversions/csv-file.ts";
import type { Db } from "#core/store/store.ts";
import {
	type ListedStatement,
	readStatementEntries,
	readStatements,
	type Statement,
	type StatementEntry,
	type StatementFilter,
} from "../store/statements.ts";
import type { StatementsDeps } from "./deps.ts";
import { openParties } from "./parties.ts";
import { openDetails, type StoredDetails } from "./payment-details.ts";

/**
 * Returns the proof of a statement as a CSV file, for staff and for the partner's people. Every download of
 * it is the same.
 */
export function proofFile(
	db: Db,
	statement: Pick<Statement, "id" | "partner_id" | "time_zone" | "first_entry_id" | "last_entry_id">,
	separator: CsvSeparator = ",",
): AsyncGenerator<string> {
	const columns: CsvColumns<StatementEntry> = [
		["conversionId", (row) => row.conversion_public_id ?? ""],
		["programme", (row) => row.programme_name ?? ""],
		["eventType", (row) => row.event_type ?? ""],
		["soldAt", (row) => row.occurred_at_ms, "time"],
		["decidedAt", (row) => row.decided_at_ms, "time"],
		["s1", (row) => row.sub_1 ?? ""],
		["s2", (row) => row.sub_2 ?? ""],
		["s3", (row) => row.sub_3 ?? ""],
		["commission", amountOf("EARNED"), "amount"],
		["change", amountOf("CHANGED"), "amount"],
		["adjusted", amountOf("ADJUSTED"), "amount"],
		["currency", (row) => row.currency],
		["reason", (row) => row.reason ?? ""],
		["enteredAt", (row) => row.at_ms, "time"],
	];
	const form = { separator, zone: statement.time_zone };
	return csvFile(columns, readStatementEntries(db, statement, CSV_BATCH_ROWS), form);
}

function amountOf(kind: StatementEntry["kind"]) {
	return (row: StatementEntry) => (row.kind === kind ? row.amount : "");
}

type Payable = ListedStatement & { details: StoredDetails };

const PAYOUT_COLUMNS: CsvColumns<Payable> = [
	["number", (row) => row.number],
	["payee", ({ details }) => details.payee],
	["account", ({ details }) => accountOf(details)],
	["bic", ({ details }) => details.bic],
	["country", ({ details }) => details.country],
	["amount", (row) => row.total, "amount"],
	["currency", (row) => row.currency],
	["reference", (row) => `Statement ${row.number}`],
	["partner", (row) => row.partner_name],
	["partnerId", (row) => row.partner_public_id],
];

/**
 * Returns the file of all statements that are to be paid, of one month or of all. Only staff may have it, because it
 * contains the accounts of all partners. An account is that of the day on which the statement was issued. If the partner
 * had entered none until then, it is the present one. A statement without an account is left out, so that no money goes
 * nowhere. The page that offers the file says how many are left out (`findUnpayable`).
 */
export function payoutFile(
	db: Db,
	deps: Pick<StatementsDeps, "keyRing">,
	filter: Pick<StatementFilter, "month" | "partnerId">,
	form?: CsvForm,
): AsyncGenerator<string> {
	return csvFile(PAYOUT_COLUMNS, readPayable(db, deps, filter), form);
}

async function* readPayable(
	db: Db,
	deps: Pick<StatementsDeps, "keyRing">,
	filter: StatementFilter,
): AsyncGenerator<readonly Payable[]> {
	const payable = { ...filter, state: "to_pay", hasDetails: true } as const;
	for await (const rows of readStatements(db, payable, CSV_BATCH_ROWS)) {
		const issued = rows.map((row) => ({ row, details: openParties(deps, row)?.partner.details ?? null }));
		const without = issued.filter(({ details }) => details === null).map(({ row }) => row.partner_id);
		const present = await openDetails(db, deps, without);
		yield issued.flatMap(({ row, details: atIssue }) => {
			const details = atIssue ?? present.get(row.partner_id);
			return details === undefined || accountOf(details) === "" ? [] : [{ ...row, details }];
		});
	}
}

function accountOf({ iban, account }: StoredDetails): string {
	return iban || account;
}
