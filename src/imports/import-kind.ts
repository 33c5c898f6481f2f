// This room is how a network moves here from other software: files of programmes, of people and of decided history.
// Here: what the three kinds have in common. A line is about one thing, and either brings it, finds it as it is, or says
// something that a person has to put right. Nothing that is here already is ever overwritten.

import type { InvitationsDeps } from "../accounts/invitations.ts";
import type { DecidedStatus } from "../domain/conversion.ts";
import type { Clock, Random } from "../ports.ts";
import type { Db, Store } from "../store/store.ts";

export const IMPORT_KINDS = ["programmes", "people", "conversions"] as const;
export type ImportKindName = (typeof IMPORT_KINDS)[number];

/** By the names of the columns; what the file does not have is empty. */
export type Cells = Readonly<Record<string, string>>;

export interface ImportRow {
	line: number;
	cells: Cells;
}

/** `import`: it would be, or was, brought in. `already`: it is here, and the same. `refused`: it needs fixing. */
export const ROW_VERDICTS = ["import", "already", "refused"] as const;

export interface RowVerdict {
	kind: (typeof ROW_VERDICTS)[number];
	/** What to put right, where it needs fixing. */
	detail: string | null;
	/** What a conversion brings with it. */
	money: RowMoney | null;
}

export interface RowMoney {
	status: DecidedStatus;
	currency: string;
	basket: string;
	commission: string;
	fee: string;
}

export interface JudgedRow extends ImportRow {
	verdict: RowVerdict;
}

export interface ImportDeps {
	store: Store;
	clock: Clock;
	random: Random;
	/** Who imports; null on the command line. */
	personId: number | null;
	/** Null: nobody is mailed, and staff send the links later. */
	inviting: Pick<InvitationsDeps, "mails" | "publicUrl"> | null;
}

export interface ImportColumn {
	name: string;
	isOptional?: true;
	/** Otherwise white space around a cell is nobody's. */
	keepsSpace?: true;
}

export interface ImportKind {
	name: ImportKindName;
	/** One of them, and several. */
	noun: readonly [string, string];
	columns: readonly ImportColumn[];
	/** What a line is about: no two lines of a file may say different things about it. */
	keyOf(cells: Cells): string;
	/** What the lines would do. Each by itself: lines about the same thing are compared before. */
	judge(db: Db, rows: readonly ImportRow[], nowMs: number): Promise<RowVerdict[]>;
	/** At most BATCH_ROWS of them. In transactions of its own: broken off and started again it goes on where it was. */
	apply(deps: ImportDeps, rows: readonly ImportRow[]): Promise<RowVerdict[]>;
}

export function bring(money: RowMoney | null = null): RowVerdict {
	return { kind: "import", detail: null, money };
}

export function findTheSame(detail: string | null = null): RowVerdict {
	return { kind: "already", detail, money: null };
}

export function needsFixing(detail: string): RowVerdict {
	return { kind: "refused", detail, money: null };
}

export function cellOf(cells: Cells, column: string): string {
	return cells[column] ?? "";
}

/** As a number is typed where the comma is the decimal sign: 1299,50 is 1299.50. Nothing else is changed. */
export function pointed(text: string): string {
	return /^\d+,\d+$/.test(text) ? text.replace(",", ".") : text;
}
