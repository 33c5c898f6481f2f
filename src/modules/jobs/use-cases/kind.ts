// Definitions that all kinds of jobs share. A job works on lines, such as decisions, statements to issue,
// payments, or imports from other software. Each line changes one thing, finds that nothing has to change, or
// is refused.

import type { Side } from "#core/conversions/decide.ts";
import type { InTransaction } from "#core/conversions/deps.ts";
import { IMPORTED_STATUSES } from "#core/domain/conversion.ts";
import { type Checked, plainWords, type Result } from "#core/domain/fault.ts";
import type { InvitationsDeps } from "#core/people/invitations.ts";
import type { Owed } from "#core/store/queries/queue.ts";
import type { Db } from "#core/store/store.ts";
import type { StatementsDeps } from "#modules/accounts/use-cases/deps.ts";
import type { Job } from "../store/jobs.ts";
import type { JobKindName } from "../store/tables.ts";

/** The cells of a line by column name. A column that the file does not have is empty. */
export type Cells = Readonly<Record<string, string>>;

export interface JobRow {
	line: number;
	cells: Cells;
}

/**
 * Verdicts on a line: "change" if it changes something, "already" if nothing has to change, "refused" if it
 * must be fixed.
 */
export const ROW_VERDICTS = ["change", "already", "refused"] as const;

export interface RowVerdict {
	kind: (typeof ROW_VERDICTS)[number];
	/** Text about the line. It says what to fix if the line is refused. Otherwise it is a remark, or null. */
	detail: string | null;
	/** Amount of money in the line. It is added to the summary and not stored with the line. */
	money: RowMoney | null;
	/** Total of the statement in the line. It is added to the summary and not stored with the line. */
	total?: StatementTotal | undefined;
	/** The partner of a statement that is to be paid, if it has no payment details. The summary names it. */
	lacksDetails?: NamedPartner | undefined;
	/** Word for the line in the result file, if it differs from the usual word for such a verdict. */
	word?: string | undefined;
}

/**
 * Groups of amounts in a summary. The group "REFUNDED" has the refunded values, and the amounts by which
 * refunds have lowered commissions and fees.
 */
export const MONEY_STATUSES = [...IMPORTED_STATUSES, "REFUNDED"] as const;

export interface RowMoney {
	/** Status of the conversion after the line is applied, or "REFUNDED" for a refund of a part. */
	status: (typeof MONEY_STATUSES)[number];
	currency: string;
	basket: string;
	commission: string;
	fee: string;
	/** True for a test conversion, which no sum includes. */
	isTest?: boolean;
}

/** Outcomes for the total of a statement. It will be paid, is carried forward, or was paid. */
export const TOTAL_OUTCOMES = ["pay", "carry", "paid"] as const;

export interface StatementTotal {
	outcome: (typeof TOTAL_OUTCOMES)[number];
	currency: string;
	amount: string;
}

export interface NamedPartner {
	/** Public id of the partner. */
	id: string;
	name: string;
}

/** The conditions under which a job runs. */
export interface JobScope {
	/**
	 * The programme of a job of decisions, and the party that decides (the shop or the review team). Null for
	 * jobs of the network's staff.
	 */
	deciding: { programmeId: number; side: Side } | null;
}

export interface ApplyDeps
	extends JobScope,
		InTransaction,
		Pick<StatementsDeps, "keyRing" | "mails" | "publicUrl"> {
	jobId: number;
	/** The person who applies the job, or null if it is applied on the command line. */
	personId: number | null;
	/**
	 * The means to mail invitations, or null if no invitations are mailed, because staff send the links later.
	 */
	inviting: Pick<InvitationsDeps, "mails" | "publicUrl"> | null;
	/** Receives the callbacks that the batch causes. They are announced after the commit. */
	owe(owed: Owed): void;
}

/**
 * Lines of earlier batches of the preview that change something. The key of the map is the thing that they
 * change (`JobKind.thingOf`).
 */
export type EarlierLines = ReadonlyMap<string, readonly Cells[]>;

export interface JobColumn {
	name: string;
	/** Short description of the column for the person who writes the file. */
	means: string;
	/** Other names of the column, separated by commas. */
	aliases?: string;
	isOptional?: true;
	/** True if spaces around the cell's text are significant. By default they are removed. */
	keepsSpace?: true;
	/**
	 * Number of characters after which a cell is cut off. The column must refuse a text of this length, because a part of
	 * it may be missing.
	 */
	maxCharacters?: number;
}

/** Lines that a step of the preparation found. */
export interface CollectedLines {
	lines: readonly Cells[];
	/** Number of partners whose accounts were read. */
	read: number;
	/** Id of the last partner whose account was read, after which the next step continues. */
	preparedTo: number | null;
	isLast: boolean;
}

export interface JobKind {
	name: JobKindName;
	/** Singular and plural noun for the things that the lines are about, for example "person" and "people". */
	noun: readonly [string, string];
	/** Short description of the file, for the page where people upload it. */
	hint: string;
	columns: readonly JobColumn[];
	/** Columns that may occur in the file but are not read, separated by commas. */
	ignored?: string;
	/**
	 * Returns further problems of the file's header. It is called only if the header has all required columns.
	 */
	checkHeader?(has: (column: string) => boolean): string[];
	/** Example of a file, for the page. */
	example: string;
	/** Text that tells the person what cannot be undone after the job, and who is informed. */
	advice: string;
	/**
	 * Words in the result file for each verdict. A line to change has one word before it is applied and another
	 * word after.
	 */
	resultWords: { change: readonly [before: string, after: string]; already: string; refused: string };
	/** Maximum number of lines of an uploaded file. */
	maxRows: number;
	/** Number of lines in one transaction. */
	batchRows: number;
	/**
	 * Number of lines in one transaction on SQLite, if it is smaller there because only one transaction writes
	 * at a time.
	 */
	batchRowsOnSqlite?: number;
	/** True if jobs of this kind create people, which requires the access lock (`lockAccess`). */
	makesPeople: boolean;
	/**
	 * Sentence that says where staff send invitations later, if no mail is sent now. Only kinds that can mail
	 * invitations have it.
	 */
	invitesLater?: string;
	/**
	 * Returns a sentence about the changed lines that have a remark. `lines` is their number with the noun, such as
	 * "3 people".
	 */
	sayRemarks?(lines: string, isApplied: boolean): string;
	/**
	 * Statement that a person must confirm before lines with remarks are applied, in the words of a box to tick. By default
	 * nothing is to be confirmed.
	 */
	confirmation?: string;
	/**
	 * Finds the next lines of a job that is being prepared. Only a kind whose lines come from the database and not from a
	 * file has it. A page shows the lines as soon as the last one was found.
	 */
	collect?(db: Db, job: Pick<Job, "list_query" | "prepared_to">, nowMs: number): Promise<CollectedLines>;
	/** Names of cells that `prepare` adds. They are stored with the line, and the result file does not have them. */
	found?: readonly string[];
	/** Converts the lines before they are stored. By default they are stored unchanged. */
	prepare?(db: Db, scope: JobScope, rows: readonly JobRow[]): Promise<JobRow[]>;
	/**
	 * Returns a key for the thing that a line is about. Lines with the same key must agree. If the key is null,
	 * the line is not compared with other lines.
	 */
	keyOf(cells: Cells): string | null;
	/**
	 * Returns the part of a line that must agree with other lines about the same thing. By default this is the
	 * whole line.
	 */
	saysOf?(cells: Cells): string;
	/**
	 * Another thing that lines may have in common, such as the partner of several partnerships. Such lines must
	 * agree on it.
	 */
	shared?: { noun: string; keyOf(cells: Cells): string | null; saysOf(cells: Cells): string };
	/**
	 * Returns a key for the thing that several lines of the file may change one after the other, or null if the
	 * line changes nothing. Only kinds with such lines define this function. `judge` then gets the lines of
	 * earlier batches.
	 */
	thingOf?(cells: Cells): string | null;
	/**
	 * Returns the verdict on each line of a batch, in the order of the file. The caller has already checked whether lines
	 * about the same thing agree.
	 */
	judge(
		db: Db,
		scope: JobScope,
		rows: readonly JobRow[],
		nowMs: number,
		earlier: EarlierLines,
	): Promise<RowVerdict[]>;
	/**
	 * Applies the lines of one batch, by making the changes that `judge` announced. The caller must hold the
	 * job's lock.
	 */
	apply(trx: Db, deps: ApplyDeps, rows: readonly JobRow[]): Promise<RowVerdict[]>;
}

/** A kind of files from other software, which the command line imports too. */
export interface ImportKind extends JobKind {
	/** Description of the kind in the help of `ringback import`. */
	importSummary: string;
}

/**
 * Words in the result file of imports. Other programs read these words, so they may be added but not renamed.
 */
export const IMPORT_WORDS: JobKind["resultWords"] = {
	change: ["will_be_imported", "imported"],
	already: "no_change_needed",
	refused: "needs_fixing",
};

/** Maximum number of lines that can be uploaded on a page. The command line accepts more. */
export const MAX_IMPORTED_ROWS = 500_000;

/** Returns the verdict on a line that changes something. */
export function willChange(money: RowMoney | null, detail: string | null = null): RowVerdict {
	return { kind: "change", detail, money };
}

/** Returns the verdict on a line whose change was made before. */
export function needsNoChange(detail: string | null = null): RowVerdict {
	return { kind: "already", detail, money: null };
}

/** Returns the refusal of a line. `detail` tells a person how to fix it. */
export function needsFixing(detail: string, word?: string): RowVerdict {
	return { kind: "refused", detail, money: null, word };
}

/** The parsed content of a line, or all faults of the line. */
export type ReadLine<Value> = Result<Value> | Checked<Value>;

/** Maximum number of faults that the refusal of a line names. The others are counted. */
const MAX_NAMED_FAULTS = 3;

/** Returns the refusal of a line that could not be read. It names the faults of the line. */
export function refuseLine(refused: Extract<ReadLine<unknown>, { ok: false }>): RowVerdict {
	const faults = "faults" in refused ? refused.faults : [refused.fault];
	const named = faults.slice(0, MAX_NAMED_FAULTS).map(plainWords);
	const more = faults.length - named.length;
	return needsFixing([...named, ...(more === 0 ? [] : [`And ${more} more.`])].join(" "));
}

/** Judges lines one after the other. Use it only for kinds of jobs whose files have few lines. */
export async function inOrder(
	rows: readonly JobRow[],
	judge: (row: JobRow) => Promise<RowVerdict>,
): Promise<RowVerdict[]> {
	const verdicts: RowVerdict[] = [];
	for (const row of rows) verdicts.push(await judge(row));
	return verdicts;
}

/**
 * Describes the difference between the stored value and the value in the file. Returns an empty list if they
 * are the same.
 */
export function differ(what: string, here: string, inFile: string, isCompared = true): string[] {
	return isCompared && here !== inFile ? [`${what} ${here} here, ${inFile} in the file`] : [];
}

/**
 * Compares a line with existing data, which is never overwritten. If they differ, the line is refused and a
 * person must fix it.
 */
export function compareWith(
	what: string,
	differences: readonly string[],
	same: string | null = null,
): RowVerdict {
	if (differences.length === 0) return needsNoChange(same);
	return needsFixing(`${what} is here already, and differs: ${differences.join("; ")}.`);
}

export function cellOf(cells: Cells, column: string): string {
	return cells[column] ?? "";
}

/** Converts a reason as pages show it to its code, so "Out of stock" becomes OUT_OF_STOCK. */
export function reasonWord(text: string): string {
	return text
		.trim()
		.toUpperCase()
		.replace(/[\s_-]+/g, "_");
}
