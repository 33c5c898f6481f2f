// The accounts of partners, statements and payments. docs/decisions/money.md and statements.md explain them. Amounts are
// decimal text in the canonical form of their currency, and those of entries and statements may be negative.

import type { Generated, Selectable } from "kysely";
import { moduleTable } from "#core/store/module-parts.ts";
import type { EntryKind } from "../domain/ledger.ts";

declare module "#core/store/schema/tables.ts" {
	interface Schema {
		entries: EntriesTable;
		open_entries: OpenEntriesTable;
		statements: StatementsTable;
		statement_lines: StatementLinesTable;
		statement_entries: StatementEntriesTable;
		payments: PaymentsTable;
		unpaid_statements: UnpaidStatementsTable;
		statement_numbers: StatementNumbersTable;
		payment_details: PaymentDetailsTable;
	}
}

/** One row is an entry in the account of a partner. Rows never change, except that an erasure removes texts. */
export interface EntriesTable {
	id: Generated<number>;
	partner_id: number;
	/** The programme of the conversion. Null for adjustments and payments. */
	programme_id: number | null;
	/** The conversion that caused the entry. Null for adjustments and payments. */
	conversion_id: number | null;
	kind: EntryKind;
	amount: string;
	currency: string;
	/** The statement that was paid. Only entries of the kind PAID have one. */
	statement_id: number | null;
	person_id: number | null;
	/** Reason of the entry: text of a person, "erased", or the reason code of a refund or reversal. */
	reason: string | null;
	at_ms: number;
	/**
	 * Time of the conversion's last decision, and the sub IDs of the partner's click, as they were when the entry was
	 * written. A return or another partner changes them in the conversion, and a statement that was issued must not change.
	 * An empty sub ID is null.
	 */
	decided_at_ms: number | null;
	sub_1: string | null;
	sub_2: string | null;
	sub_3: string | null;
}

/**
 * One row is an entry that no statement contains yet. It repeats the columns of the entry that statements need, so that
 * preparing them reads only the open part of the accounts.
 */
export interface OpenEntriesTable
	extends Pick<EntriesTable, "partner_id" | "programme_id" | "kind" | "amount" | "currency" | "at_ms"> {
	entry_id: number;
}

/** One row is a statement that was issued to a partner. Rows never change, except that an erasure removes the parties. */
export interface StatementsTable {
	id: Generated<number>;
	public_id: string;
	/** Number that people use, such as 2026-0042. */
	number: string;
	/** Year of the issue, in the network's time zone. Numbers count within it. */
	year: number;
	seq: number;
	partner_id: number;
	currency: string;
	/** The month up to whose end entries are included, such as 2026-10. */
	month: string;
	time_zone: string;
	/** Total of the partner's statement before this one, if that was carried forward. */
	opening: string;
	earned: string;
	changed: string;
	adjusted: string;
	total: string;
	/** 1 if nothing is paid, because the total was too small, and the next statement starts with it. */
	is_carried: 0 | 1;
	/**
	 * Lowest and highest id of the entries that the statement contains, or null if it contains none. Entries of other
	 * statements may lie between them.
	 */
	first_entry_id: number | null;
	last_entry_id: number | null;
	/**
	 * Sealed copy of both parties, as they were on the day of the issue. It is empty if the partner was erased and the
	 * legal period has ended.
	 */
	sealed_parties: string;
	/** The job that issued the statement. */
	job_id: number | null;
	issued_at_ms: number;
	issued_by: number | null;
}

/** One row is the part of a statement that comes from one programme. */
export interface StatementLinesTable {
	statement_id: number;
	programme_id: number;
	programme_name: string;
	/** Number of conversions that were approved. */
	sales: number;
	earned: string;
	changed: string;
}

/** One row is an entry that a statement contains. */
export interface StatementEntriesTable {
	/** The partner of the entry and of the statement. */
	partner_id: number;
	entry_id: number;
	statement_id: number;
}

/** One row is a statement that was paid. */
export interface PaymentsTable {
	statement_id: number;
	/** The entry of the kind PAID that records the payment in the partner's account. */
	entry_id: number;
	/** Day of the payment, such as 2026-11-18. */
	paid_on: string;
	/** Reference of the bank or the payment provider. It may be empty. */
	reference: string;
	person_id: number | null;
	at_ms: number;
}

/** One row is a statement that is to be paid. Triggers add and remove the rows, so nothing else writes them. */
export interface UnpaidStatementsTable {
	statement_id: number;
}

/** One row is the last number of a year's statements. */
export interface StatementNumbersTable {
	year: number;
	last: number;
}

export interface PaymentDetailsTable {
	partner_id: number;
	sealed: string;
	changed_at_ms: number;
	changed_by: number | null;
}

export type Entry = Selectable<EntriesTable>;

/** Columns of an entry that describe its sale. An adjustment has none. */
type OfSale = "decided_at_ms" | "sub_1" | "sub_2" | "sub_3";
/** An entry that a move or an adjustment causes. No statement contains it yet. */
export type NewEntry = Omit<Entry, "id" | "statement_id" | OfSale> & Partial<Pick<Entry, OfSale>>;

/** The table `entries`. The columns of open entries are repeated in `open_entries`. */
export const ENTRIES = moduleTable<NewEntry>({
	name: "entries",
	columns: {
		partner_id: "bigint",
		programme_id: "bigint",
		conversion_id: "bigint",
		kind: "text",
		amount: "text",
		currency: "text",
		person_id: "bigint",
		reason: "text",
		at_ms: "bigint",
		decided_at_ms: "bigint",
		sub_1: "text",
		sub_2: "text",
		sub_3: "text",
	},
	repeatedIn: {
		name: "open_entries",
		idColumn: "entry_id",
		columns: ["partner_id", "programme_id", "kind", "amount", "currency", "at_ms"],
	},
	writtenWith: "decisions",
});

export type Statement = Selectable<StatementsTable>;
export type Payment = Selectable<PaymentsTable>;
