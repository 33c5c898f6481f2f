// The lines of a file to import, by the names of its columns. Read as a stream and as often as asked: however large the
// file is, no more than a batch of it is held.

import { undoDefusing } from "../conversions/csv-cell.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { foldText } from "../domain/folded-text.ts";
import { groupDigits } from "../domain/grouped-digits.ts";
import { readRecords } from "./csv-records.ts";
import {
	type Cells,
	IMPORT_KINDS,
	type ImportColumn,
	type ImportKind,
	type ImportRow,
} from "./import-kind.ts";
import { importKind } from "./import-kinds.ts";

export interface ImportFile {
	/** From its first byte. */
	read(): AsyncIterable<Uint8Array>;
}

/** What a result file has more than the file it came from: corrected, it can be imported as it is. */
export const RESULT_COLUMNS = ["line", "result", "detail"] as const;

/** Whatever somebody's program wrote there: more than this makes no sense in any column. */
const MAX_CELL_CHARACTERS = 300;

export interface RowReader {
	take(rows: readonly ImportRow[]): Promise<void>;
	/** Any number unless told: of rows, and of lines with the blank ones. */
	maxRows?: number;
	maxLines?: number;
	yieldLoop(): Promise<void>;
}

/** How many rows there are. What was taken before a refusal is worth nothing. */
export async function readImportRows(
	file: ImportFile,
	kind: ImportKind,
	{ take, maxRows = Number.POSITIVE_INFINITY, maxLines = Number.POSITIVE_INFINITY, yieldLoop }: RowReader,
): Promise<Result<number>> {
	let positions: ReadonlyMap<ImportColumn, number> = new Map();
	let count = 0;
	return readRecords(file.read(), {
		yieldLoop,
		maxLines,
		headerAdvice: adviceOn(kind.columns),
		rowAdvice: `Add one line for each ${kind.noun[0]}.`,
		header(cells) {
			const header = readHeader(cells, kind);
			if (header.ok) positions = header.value;
			return header;
		},
		async take(records) {
			count += records.length;
			if (count > maxRows) return refuseTooMany(maxRows);
			await take(records.map(({ line, cells }) => ({ line, cells: pickCells(cells, positions) })));
			return succeed(null);
		},
	});
}

function refuseTooMany(maxRows: number): Result<never> {
	const detail = `The file has more than ${groupDigits(maxRows)} lines. Split it into parts, or import it from a shell: ringback import takes files of any size.`;
	return refuse("too_many_rows", detail, "file");
}

function readHeader(cells: readonly string[], kind: ImportKind): Result<ReadonlyMap<ImportColumn, number>> {
	const { columns } = kind;
	const positions = new Map<ImportColumn, number>();
	const unknown: string[] = [];
	const refuseHeader = (problem: string) =>
		refuse("malformed_file", `Line 1: ${problem}. ${adviceOn(columns)}`, "file");
	for (const [position, cell] of cells.entries()) {
		const name = plainName(cell);
		const column = columns.find((known) => plainName(known.name) === name);
		if (column === undefined) {
			if (name !== "" && !RESULT_COLUMNS.some((known) => plainName(known) === name))
				unknown.push(cell.trim());
			continue;
		}
		if (positions.has(column)) return refuseHeader(`the column ${column.name} is there twice`);
		positions.set(column, position);
	}
	const isMissing = (column: ImportColumn) => column.isOptional !== true && !positions.has(column);
	const missing = columns.filter(isMissing).map(({ name }) => name);
	if (unknown.length === 0 && missing.length === 0) return succeed(positions);
	const other = findOtherKind(cells, kind);
	if (other !== undefined && missing.length > 0) {
		return refuse("malformed_file", `This is a file of ${other.noun[1]}. Import it as one.`, "file");
	}
	const open = columns.filter((column) => !positions.has(column)).map(({ name }) => name);
	return refuseHeader(
		[sayUnknown(unknown, open), sayMissing(missing)].filter((part) => part !== "").join(", and "),
	);
}

/** Every column that it needs is there. */
function findOtherKind(cells: readonly string[], { name }: ImportKind): ImportKind | undefined {
	const names = new Set(cells.map(plainName));
	return IMPORT_KINDS.filter((kind) => kind !== name)
		.map(importKind)
		.find(({ columns }) =>
			columns.every((column) => column.isOptional === true || names.has(plainName(column.name))),
		);
}

const MAX_NAMED_COLUMNS = 5;
const MAX_NAME_CHARACTERS = 40;

function sayUnknown(unknown: readonly string[], open: readonly string[]): string {
	if (unknown.length === 0) return "";
	const named = unknown.slice(0, MAX_NAMED_COLUMNS).map((name) => {
		const meant = open.find((known) => isClose(plainName(name), plainName(known)));
		return `“${name.slice(0, MAX_NAME_CHARACTERS)}”${meant === undefined ? "" : ` (${meant} is meant?)`}`;
	});
	const rest = unknown.length - named.length;
	const all = rest === 0 ? named : [...named, `${rest} more`];
	return `there is no column ${listOf(all, "or")}`;
}

function sayMissing(missing: readonly string[]): string {
	if (missing.length === 0) return "";
	return missing.length === 1
		? `the column ${missing[0]} is missing`
		: `the columns ${listOf(missing, "and")} are missing`;
}

function listOf(parts: readonly string[], word: string): string {
	return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} ${word} ${parts.at(-1)}`;
}

/** One within the other, or with the same beginning: "order" and "order_id", "e-mail address" and "email". */
function isClose(name: string, known: string): boolean {
	const shortest = Math.min(name.length, known.length);
	if (shortest < 3) return false;
	return known.includes(name) || name.includes(known) || name.slice(0, 4) === known.slice(0, 4);
}

/** "Order ID", "orderId" and "order_id" are the same column. */
function plainName(text: string): string {
	return foldText(text).replace(/[\s_.-]/gu, "");
}

function adviceOn(columns: readonly ImportColumn[]): string {
	const namesOf = (isOptional: boolean) =>
		columns.filter((column) => (column.isOptional === true) === isOptional).map(({ name }) => name);
	return `The first line must name the columns: ${namesOf(false).join(", ")}; if needed also ${namesOf(true).join(", ")}.`;
}

function pickCells(cells: readonly string[], positions: ReadonlyMap<ImportColumn, number>): Cells {
	return Object.fromEntries(
		[...positions].map(([{ name, keepsSpace }, position]) => {
			const cell = keepShowable(undoDefusing(cells[position] ?? ""));
			return [name, keepsSpace === true ? cell : cell.trim()];
		}),
	);
}

/** Bounded, and nothing that a database refuses to store. */
function keepShowable(text: string): string {
	return text
		.slice(0, MAX_CELL_CHARACTERS)
		.toWellFormed()
		.replace(/\p{Cc}/gu, "\u{FFFD}");
}
