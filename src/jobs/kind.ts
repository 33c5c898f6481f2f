// This room works on files with many lines: decisions of one programme, and imports from other software (programmes, people
// and decided history). This file has what all kinds of jobs share. A line is about one thing. It changes the thing, finds
// it already as required, or needs fixing by a person.

import type { Side } from "../conversions/decide.ts";
import type { InTransaction } from "../conversions/deps.ts";
import type { DecidedStatus } from "../domain/conversion.ts";
import { parseName } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { InvitationsDeps } from "../people/invitations.ts";
import {
	findProgrammesByName,
	findProgrammesByPublicId,
	type Programme,
} from "../store/queries/programmes.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { JobKindName } from "../store/tables/jobs.ts";

/** Cells by the names of the columns. Columns that the file does not have are empty. */
export type Cells = Readonly<Record<string, string>>;

export interface JobRow {
	line: number;
	cells: Cells;
}

/** `change` if the line changes something, `already` if nothing has to change, and `refused` if it needs fixing. */
export const ROW_VERDICTS = ["change", "already", "refused"] as const;

export interface RowVerdict {
	kind: (typeof ROW_VERDICTS)[number];
	/** What to fix in a refused line, or a remark on another line. */
	detail: string | null;
	/** Amount of the line, which is added to the summary and not stored with the line. */
	money: RowMoney | null;
	/** Word in the result file, if it is not the kind's own word. */
	word?: string | undefined;
}

export interface RowMoney {
	/** Status after the line is applied. */
	status: DecidedStatus;
	currency: string;
	basket: string;
	commission: string;
	fee: string;
	/** True for a test conversion, which is in no sum. */
	isTest?: boolean;
}

/** Context of a job. */
export interface JobScope {
	/** Programme and party of the decisions, or null for imports by staff. */
	deciding: { programmeId: number; side: Side } | null;
}

export interface ApplyDeps extends JobScope, InTransaction {
	/** Person who applies the job, or null on the command line. */
	personId: number | null;
	/** Null if nobody is mailed and staff send the links later. */
	inviting: Pick<InvitationsDeps, "mails" | "publicUrl"> | null;
	/** Receives the callbacks that the batch owes. They are announced after the commit. */
	owe(owed: Owed): void;
}

export interface JobColumn {
	name: string;
	/** Short description for the person who writes the file. */
	means: string;
	/** Other names of the column, separated by commas. */
	aliases?: string;
	isOptional?: true;
	/** True if white space around the cell is kept. By default it is removed. */
	keepsSpace?: true;
}

export interface JobKind {
	name: JobKindName;
	/** Singular and plural of the things that the lines are about. */
	noun: readonly [string, string];
	columns: readonly JobColumn[];
	/** Columns that are allowed and not read, separated by commas. */
	ignored?: string;
	/** Returns a problem of a header that has all required columns. */
	checkHeader?(has: (column: string) => boolean): string[];
	/** Example of a file. */
	example: string;
	/** What cannot be undone, and who is informed. */
	advice: string;
	/** Words in the result file for lines that would change, have changed, need no change, and need fixing. */
	resultWords: { change: readonly [before: string, after: string]; already: string; refused: string };
	/** Maximum number of lines of an uploaded file. */
	maxRows: number;
	/** Number of lines in one transaction. */
	batchRows: number;
	/** True if the kind creates people, which needs the lock on links. */
	makesPeople: boolean;
	/** Converts the lines before they are stored. By default they are stored unchanged. */
	prepare?(db: Db, scope: JobScope, rows: readonly JobRow[]): Promise<JobRow[]>;
	/** Returns the thing that a line is about. Two lines about it must agree. With null, the line is not compared. */
	keyOf(cells: Cells): string | null;
	/** Returns the cells that must agree. By default these are all cells. */
	saysOf?(cells: Cells): string;
	/** Returns what each line would do by itself. Lines about the same thing were compared before. */
	judge(db: Db, scope: JobScope, rows: readonly JobRow[], nowMs: number): Promise<RowVerdict[]>;
	/** Applies the lines as `judge` announced, at most `batchRows` at a time. The caller holds the job's lock. */
	apply(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]>;
}

/** Words in the result file of imports. Programs read these words, so words may be added but not renamed. */
export const IMPORT_WORDS: JobKind["resultWords"] = {
	change: ["will_be_imported", "imported"],
	already: "no_change_needed",
	refused: "needs_fixing",
};

/** Maximum number of lines of an upload on a page. The command accepts more. */
export const MAX_IMPORTED_ROWS = 500_000;

export function bring(money: RowMoney | null, detail: string | null = null): RowVerdict {
	return { kind: "change", detail, money };
}

export function findTheSame(detail: string | null = null): RowVerdict {
	return { kind: "already", detail, money: null };
}

export function needsFixing(detail: string, word?: string): RowVerdict {
	return { kind: "refused", detail, money: null, word };
}

/** Judges lines one after the other, for kinds with few lines. */
export async function inOrder(
	rows: readonly JobRow[],
	judge: (row: JobRow) => Promise<RowVerdict>,
): Promise<RowVerdict[]> {
	const verdicts: RowVerdict[] = [];
	for (const row of rows) verdicts.push(await judge(row));
	return verdicts;
}

/** Describes the stored value and the file's value, or returns nothing if both are the same. */
export function differ(what: string, here: string, inFile: string, isCompared = true): string[] {
	return isCompared && here !== inFile ? [`${what} ${here} here, ${inFile} in the file`] : [];
}

/**
 * Compares a line with existing data, which is never overwritten. If the file differs, a person must fix the
 * line.
 */
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

/** Converts a decimal comma, so 1299,50 becomes 1299.50. Nothing else is changed. */
export function withDecimalPoint(text: string): string {
	return /^\d+,\d+$/.test(text) ? text.replace(",", ".") : text;
}

/** Converts a reason as pages write it, so "Out of stock" becomes OUT_OF_STOCK. */
export function reasonWord(text: string): string {
	return text
		.trim()
		.toUpperCase()
		.replace(/[\s_-]+/g, "_");
}

// Finds the programmes that the lines of a file name by id or by name.

export type NamedProgrammes = (named: string) => Result<Programme>;

const PROGRAMME_ID = /^prg_[0-9A-Z]{26}$/;

export async function findNamedProgrammes(db: Db, named: readonly string[]): Promise<NamedProgrammes> {
	const distinct = [...new Set(named)];
	const ids = distinct.filter((text) => PROGRAMME_ID.test(text));
	const names = distinct.flatMap((text) => parseName(text) ?? []);
	const byId = new Map((await findProgrammesByPublicId(db, ids)).map((found) => [found.public_id, found]));
	const byName = Map.groupBy(await findProgrammesByName(db, names), ({ name }) => name);
	return (text) => {
		const known = byId.get(text);
		if (known !== undefined) return succeed(known);
		const [programme, another] = byName.get(parseName(text) ?? "") ?? [];
		if (another !== undefined) {
			return refuseProgramme(`Several programmes are called “${text}”. Write the ID, prg_…, instead.`);
		}
		if (programme !== undefined) return succeed(programme);
		return refuseProgramme(
			text === ""
				? "The programme is missing. Write its name, or its ID."
				: `There is no programme “${text}”. Import the programmes first, or correct the name.`,
		);
	};
}

function refuseProgramme(detail: string): ReturnType<typeof refuse> {
	return refuse("unknown_programme", detail, "programme");
}
