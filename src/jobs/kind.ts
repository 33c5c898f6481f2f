// This room is work on many lines: decisions of one programme, and what a network brings from other software (programmes,
// people and decided history). Here: what the kinds have in common. A line is about one thing, and either changes it,
// finds it as it should be, or says something that a person has to put right.

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

/** By the names of the columns; what the file does not have is empty. */
export type Cells = Readonly<Record<string, string>>;

export interface JobRow {
	line: number;
	cells: Cells;
}

/** `change`: it would, or did. `already`: it is here, and the same. `refused`: it needs fixing. */
export const ROW_VERDICTS = ["change", "already", "refused"] as const;

export interface RowVerdict {
	kind: (typeof ROW_VERDICTS)[number];
	/** What to put right, where it needs fixing; a remark where there is one otherwise. */
	detail: string | null;
	/** What hangs on it. Counted in the summary, and not stored with the line. */
	money: RowMoney | null;
	/** In the result file, where it is not the kind's own word for it. */
	word?: string | undefined;
}

export interface RowMoney {
	/** What it is, or becomes. */
	status: DecidedStatus;
	currency: string;
	basket: string;
	commission: string;
	fee: string;
	/** Stays out of all sums. */
	isTest?: boolean;
}

/** What a job is about besides its lines. */
export interface JobScope {
	/** Whose conversions are decided, and in whose name; null for what staff import. */
	deciding: { programmeId: number; side: Side } | null;
}

export interface ApplyDeps extends JobScope, InTransaction {
	/** Who applies it; null on the command line. */
	personId: number | null;
	/** Null: nobody is mailed, and staff send the links later. */
	inviting: Pick<InvitationsDeps, "mails" | "publicUrl"> | null;
	/** Told of callbacks that the batch owes: they are announced once it is stored. */
	owe(owed: Owed): void;
}

export interface JobColumn {
	name: string;
	/** In a few words, for whoever makes the file. */
	means: string;
	/** What else it may be called, parted by commas. */
	aliases?: string;
	isOptional?: true;
	/** Otherwise white space around a cell is cut off. */
	keepsSpace?: true;
}

export interface JobKind {
	name: JobKindName;
	/** One of them, and several. */
	noun: readonly [string, string];
	columns: readonly JobColumn[];
	/** Columns that may be there, and are not read; parted by commas. */
	ignored?: string;
	/** What else is wrong with a header that has all columns that are needed. */
	checkHeader?(has: (column: string) => boolean): string[];
	/** A file as it may look. */
	example: string;
	/** What of it cannot be undone, and who hears of it. */
	advice: string;
	/** In the result file: what would change, and what has; what is as it should be; and what needs fixing. */
	resultWords: { change: readonly [before: string, after: string]; already: string; refused: string };
	/** How many an uploaded file may have. */
	maxRows: number;
	/** How many go in with one transaction. */
	batchRows: number;
	/** Whether it makes people: those are made under the lock of the links. */
	makesPeople: boolean;
	/** The lines as they are stored: those that ask for something, with what they name. As they are unless told. */
	prepare?(db: Db, scope: JobScope, rows: readonly JobRow[]): Promise<JobRow[]>;
	/** What a line is about: no two lines of a file may say different things about it. Null: not compared. */
	keyOf(cells: Cells): string | null;
	/** What it says about it: all of its cells unless told. */
	saysOf?(cells: Cells): string;
	/** What the lines would do. Each by itself: lines about the same thing were compared before. */
	judge(db: Db, scope: JobScope, rows: readonly JobRow[], nowMs: number): Promise<RowVerdict[]>;
	/** Does what `judge` promised, at most `batchRows` of them. The job's lock is held. */
	apply(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]>;
}

/** What staff bring from other software. For programs: words are added, never renamed. */
export const IMPORT_WORDS: JobKind["resultWords"] = {
	change: ["will_be_imported", "imported"],
	already: "no_change_needed",
	refused: "needs_fixing",
};

/** By a page; the command takes more. */
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

/** One after the other, where each is looked for by itself: there are few of them. */
export async function inOrder(
	rows: readonly JobRow[],
	judge: (row: JobRow) => Promise<RowVerdict>,
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

/** "Out of stock", as the page writes it, is OUT_OF_STOCK. */
export function reasonWord(text: string): string {
	return text
		.trim()
		.toUpperCase()
		.replace(/[\s_-]+/g, "_");
}

// The programmes that the lines of a file speak of: by their ids, or by their names as people read them.

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
