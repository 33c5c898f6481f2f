// The lines of a file by the names of its columns. Read as a stream: however large the file is, no more than a batch of it
// is held.

import { undoDefusing } from "../conversions/csv-cell.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { foldText } from "../domain/folded-text.ts";
import { MAX_SHEET_LINES, readRecords } from "./csv.ts";
import type { Cells, JobColumn, JobKind, JobRow } from "./kind.ts";
import { IMPORT_KINDS, JOB_KINDS } from "./kinds.ts";

export interface JobFile {
	/** As it is called where it came from. */
	name: string;
	bytes: number;
	/** From its first byte. */
	read(): AsyncIterable<Uint8Array>;
}

/** What a result file has more than the file it came from: corrected, it can come back as it is. */
export const RESULT_COLUMNS = ["line", "result", "detail"] as const;

/** Whatever somebody's program wrote there: more than this makes no sense in any column. */
const MAX_CELL_CHARACTERS = 300;

export interface RowReader {
	/** A batch of them; the next one is read when it has been taken. */
	take(rows: readonly JobRow[]): Promise<Result<unknown>>;
	/** Whether it may have more lines than a spreadsheet has. */
	isAnyLength: boolean;
	/** Lets everybody else get on in between. */
	yieldLoop(): Promise<void>;
}

/** What was taken before a refusal is worth nothing. */
export async function readRows(
	file: JobFile,
	kind: JobKind,
	{ take, isAnyLength, yieldLoop }: RowReader,
): Promise<Result<number>> {
	let positions: ReadonlyMap<JobColumn, number> = new Map();
	return readRecords(file.read(), {
		yieldLoop,
		maxLines: isAnyLength ? Number.POSITIVE_INFINITY : MAX_SHEET_LINES,
		headerAdvice: adviceOn(kind.columns),
		rowAdvice: `Add one line for each ${kind.noun[0]}.`,
		header(cells) {
			const header = readHeader(cells, kind);
			if (header.ok) positions = header.value;
			return header;
		},
		take: (records) => take(records.map(({ line, cells }) => ({ line, cells: pickCells(cells, positions) }))),
	});
}

function readHeader(cells: readonly string[], kind: JobKind): Result<ReadonlyMap<JobColumn, number>> {
	const { columns, ignored = [] } = kind;
	const known = new Map(columns.flatMap((column) => namesOf(column).map((name) => [name, column] as const)));
	const unread = new Set([...RESULT_COLUMNS, ...ignored, ""].map(plainName));
	const positions = new Map<JobColumn, number>();
	const unknown: string[] = [];
	const refuseHeader = (problem: string) =>
		refuse("malformed_file", `Line 1: ${problem}. ${adviceOn(columns)}`, "file");
	for (const [position, cell] of cells.entries()) {
		const name = plainName(cell);
		const column = known.get(name);
		if (column === undefined) {
			if (!unread.has(name)) unknown.push(cell.trim());
			continue;
		}
		if (positions.has(column)) return refuseHeader(`the column ${column.name} is there twice`);
		positions.set(column, position);
	}
	const open = columns.filter((column) => !positions.has(column));
	const missing = open.filter(({ isOptional }) => isOptional !== true);
	if (unknown.length === 0 && missing.length === 0) {
		const problem = kind.checkHeader?.((name) =>
			columns.some((column) => column.name === name && positions.has(column)),
		);
		return problem === undefined || problem === null ? succeed(positions) : refuseHeader(problem);
	}
	const other = missing.length > 0 ? findOtherKind(cells, kind) : undefined;
	if (other !== undefined) {
		return refuse("malformed_file", `This is a file of ${other.noun[1]}. Import it as one.`, "file");
	}
	const parts = [sayUnknown(unknown, open), sayMissing(missing)];
	return refuseHeader(parts.filter((part) => part !== "").join(", and "));
}

/** Every column that it needs is there. */
function findOtherKind(cells: readonly string[], present: JobKind): JobKind | undefined {
	const names = new Set(cells.map(plainName));
	const isWhole = ({ columns }: JobKind) =>
		columns.every((column) => column.isOptional === true || names.has(plainName(column.name)));
	return IMPORT_KINDS.map((name) => JOB_KINDS[name]).find((kind) => kind !== present && isWhole(kind));
}

const MAX_NAMED_COLUMNS = 5;
const MAX_NAME_CHARACTERS = 40;

function sayUnknown(unknown: readonly string[], open: readonly JobColumn[]): string {
	if (unknown.length === 0) return "";
	const named = unknown.slice(0, MAX_NAMED_COLUMNS).map((name) => {
		const meant = open.find((known) => isClose(plainName(name), plainName(known.name)));
		return `“${name.slice(0, MAX_NAME_CHARACTERS)}”${meant === undefined ? "" : ` (${meant.name} is meant?)`}`;
	});
	const rest = unknown.length - named.length;
	return `there is no column ${listOf(rest === 0 ? named : [...named, `${rest} more`], "or")}`;
}

function sayMissing(missing: readonly JobColumn[]): string {
	const names = missing.map(({ name }) => name);
	if (names.length === 0) return "";
	return names.length === 1
		? `the column ${names[0]} is missing`
		: `the columns ${listOf(names, "and")} are missing`;
}

function listOf(parts: readonly string[], word: string): string {
	return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} ${word} ${parts.at(-1)}`;
}

/** One within the other, or with the same beginning: "order" and "order_id", "e-mail address" and "email". */
function isClose(name: string, known: string): boolean {
	if (Math.min(name.length, known.length) < 3) return false;
	return known.includes(name) || name.includes(known) || name.slice(0, 4) === known.slice(0, 4);
}

function namesOf({ name, aliases = [] }: JobColumn): string[] {
	return [name, ...aliases].map(plainName);
}

/** Without case, accents, spaces and signs: "Order ID", "order_id" and "orderId" are the same column. */
function plainName(text: string): string {
	return foldText(text).replace(/[\s_.'’°º-]/gu, "");
}

function adviceOn(columns: readonly JobColumn[]): string {
	const named = (isOptional: boolean) =>
		columns.filter((column) => (column.isOptional === true) === isOptional).map(({ name }) => name);
	return `The first line must name the columns: ${named(false).join(", ")}; if needed also ${named(true).join(", ")}.`;
}

function pickCells(cells: readonly string[], positions: ReadonlyMap<JobColumn, number>): Cells {
	return Object.fromEntries(
		[...positions].map(([{ name, keepsSpace }, position]) => {
			const cell = keepShowable(undoDefusing(cells[position] ?? ""));
			return [name, keepsSpace === true ? cell : cell.trim()];
		}),
	);
}

/** Bounded, and nothing that a database refuses to store. What replaces a control character is in no order id. */
function keepShowable(text: string): string {
	return text
		.slice(0, MAX_CELL_CHARACTERS)
		.toWellFormed()
		.replace(/\p{Cc}/gu, "\u{FFFD}");
}
