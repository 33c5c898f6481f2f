// This room is how a network moves here from other software: files of programmes, of people and of decided history.
// Here: what the three kinds have in common. A line is about one thing, and either brings it, finds it as it is, or says
// something that a person has to put right. Nothing that is here already is ever overwritten.

import type { DecidedStatus } from "../domain/conversion.ts";
import type { InvitationsDeps } from "../people/invitations.ts";
import type { Clock, Random } from "../ports.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db, Store } from "../store/store.ts";

/** In the order in which a network brings them: each needs what the one before has brought. */
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
	/** What to put right, where it needs fixing; a remark where there is one otherwise. */
	detail: string | null;
	/** Where it is brought to, and what a conversion brings with it. */
	brings: Brings | null;
}

export interface Brings {
	/** The id is empty of one that is not there yet. */
	programme: { id: string; name: string };
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
	/** In a few words, for whoever makes the file. */
	means: string;
	isOptional?: true;
	/** Otherwise white space around a cell is nobody's. */
	keepsSpace?: true;
}

export interface ImportKind {
	name: ImportKindName;
	/** One of them, and several. */
	noun: readonly [string, string];
	columns: readonly ImportColumn[];
	/** A file as it may look. */
	example: string;
	/** What of it cannot be undone, and who hears of it. */
	advice: string;
	/** How many go in with one transaction. */
	batchRows: number;
	/** Whether it makes people: those are made under the lock of the links. */
	makesPeople: boolean;
	/** What a line is about: no two lines of a file may say different things about it. */
	keyOf(cells: Cells): string;
	/** What the lines would do. Each by itself: lines about the same thing are compared before. */
	judge(db: Db, rows: readonly ImportRow[], nowMs: number): Promise<RowVerdict[]>;
	/** Brings them in, at most `batchRows` of them: see import-batch. */
	apply(trx: Db, deps: ImportDeps, rows: readonly ImportRow[]): Promise<RowVerdict[]>;
}

export function bring(brings: Brings | null, detail: string | null = null): RowVerdict {
	return { kind: "import", detail, brings };
}

export function findTheSame(detail: string | null = null): RowVerdict {
	return { kind: "already", detail, brings: null };
}

export function needsFixing(detail: string): RowVerdict {
	return { kind: "refused", detail, brings: null };
}

export function bringTo(
	{ public_id: id, name }: Pick<Programme, "public_id" | "name">,
	money: RowMoney | null,
): Brings {
	return { programme: { id, name }, money };
}

/** One after the other, where each is looked for by itself: there are few of them. */
export async function inOrder(
	rows: readonly ImportRow[],
	judge: (row: ImportRow) => Promise<RowVerdict>,
): Promise<RowVerdict[]> {
	const verdicts: RowVerdict[] = [];
	for (const row of rows) verdicts.push(await judge(row));
	return verdicts;
}

/** What is here, and what the file says: nothing where both are the same. */
export function differ(what: string, here: string, inFile: string, isCompared = true): string[] {
	return isCompared && here !== inFile ? [`${what} ${here} here, ${inFile} in the file`] : [];
}

/** What is here is never overwritten: it is the same, or a person has to look. */
export function compareWith(
	what: string,
	differences: readonly string[],
	same: string | null = null,
): RowVerdict {
	if (differences.length === 0) return findTheSame(same);
	return needsFixing(`${what} is here already, and differs: ${differences.join("; ")}.`);
}

export function cellOf(cells: Cells, column: string): string {
	return cells[column] ?? "";
}

/** As a number is typed where the comma is the decimal sign: 1299,50 is 1299.50. Nothing else is changed. */
export function pointed(text: string): string {
	return /^\d+,\d+$/.test(text) ? text.replace(",", ".") : text;
}
