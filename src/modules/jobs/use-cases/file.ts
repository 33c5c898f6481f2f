// Reads the lines of a file by the names of its columns. The file is read as a stream, so only one batch is
// in memory.

import { plainHeader, undoDefusing } from "#core/conversions/csv-file.ts";
import { BATCH_ROWS } from "#core/conversions/deps.ts";
import { type Result, succeed } from "#core/domain/fault.ts";
import { foldText } from "#core/domain/visible-text.ts";
import { FileRefusedError, readRecords } from "./csv.ts";
import type { Cells, JobColumn, JobKind, JobRow } from "./kind.ts";

export interface JobFile {
	/** Name of the file as it was uploaded. */
	name: string;
	bytes: number;
	/** Reads the file from its first byte. */
	read(): AsyncIterable<Uint8Array>;
}

/** Columns that a result file has in addition. They are ignored when a corrected result file is uploaded. */
export const RESULT_COLUMNS = ["line", "result", "detail"] as const;

/** Number of characters that are read of a cell, unless its column needs more. */
const MAX_CELL_CHARACTERS = 300;

export interface RowReader {
	/** Receives one batch of rows. The next batch is read after the returned promise resolves. */
	take(rows: readonly JobRow[]): Promise<Result<unknown>>;
	/** Lets the event loop serve other requests. */
	yieldLoop(): Promise<void>;
}

/**
 * Reads all rows and returns their number. If the file is refused, the caller must discard the batches that
 * it has received.
 */
export async function readRows(
	file: JobFile,
	kind: JobKind,
	{ take, yieldLoop }: RowReader,
): Promise<Result<number>> {
	let positions: ReadonlyMap<JobColumn, number> | undefined;
	let batch: JobRow[] = [];
	let count = 0;
	try {
		for await (const { line, cells } of readRecords(file.read(), yieldLoop)) {
			if (positions === undefined) {
				positions = readHeader(cells, kind);
				continue;
			}
			count += 1;
			batch.push({ line, cells: pickCells(cells, positions) });
			if (batch.length < BATCH_ROWS) continue;
			const accepted = await take(batch);
			if (!accepted.ok) return accepted;
			batch = [];
		}
		if (positions === undefined) throw new FileRefusedError(`The file is empty. ${adviceOn(kind)}`);
		if (count === 0) {
			const advice = `Add one line for each ${kind.noun[0]}.`;
			throw new FileRefusedError(`The file has a header but no rows. ${advice}`);
		}
	} catch (error) {
		if (error instanceof FileRefusedError) return { ok: false, fault: error.fault };
		throw error;
	}
	const accepted = await take(batch);
	return accepted.ok ? succeed(count) : accepted;
}

function readHeader(cells: readonly string[], kind: JobKind): ReadonlyMap<JobColumn, number> {
	const { columns, ignored = "" } = kind;
	const columnByName = new Map(
		columns.flatMap((column) =>
			[column.name, ...(column.aliases?.split(",") ?? [])].map((name) => [plainName(name), column] as const),
		),
	);
	const unread = new Set([...RESULT_COLUMNS, ...ignored.split(","), ""].map(plainName));
	const positions = new Map<JobColumn, number>();
	const unknown: string[] = [];
	const problems: string[] = [];
	for (const [position, heading] of cells.entries()) {
		const cell = plainHeader(heading);
		const column = columnByName.get(plainName(cell));
		if (column === undefined) {
			if (!unread.has(plainName(cell))) unknown.push(cell.trim());
		} else if (positions.has(column)) problems.push(`the column ${column.name} is there twice`);
		else positions.set(column, position);
	}
	const missing = columns.filter((column) => column.isOptional !== true && !positions.has(column));
	const has = (name: string) => columns.some((column) => column.name === name && positions.has(column));
	problems.push(...sayUnknown(unknown), ...sayMissing(missing.map(({ name }) => name)));
	if (problems.length === 0) problems.push(...(kind.checkHeader?.(has) ?? []));
	if (problems.length === 0) return positions;
	throw new FileRefusedError(`Line 1: ${problems.join(", and ")}. ${adviceOn(kind)}`);
}

const MAX_NAMED_COLUMNS = 5;
const MAX_NAME_CHARACTERS = 40;

function sayUnknown(unknown: readonly string[]): string[] {
	const named = unknown.slice(0, MAX_NAMED_COLUMNS).map((name) => `“${name.slice(0, MAX_NAME_CHARACTERS)}”`);
	const rest = unknown.length - named.length;
	if (named.length === 0) return [];
	const listed = new Intl.ListFormat("en-GB").format([...named, ...(rest > 0 ? [`${rest} more`] : [])]);
	return [unknown.length === 1 ? `the column ${listed} is not known` : `the columns ${listed} are not known`];
}

function sayMissing(missing: readonly string[]): string[] {
	if (missing.length === 0) return [];
	const listed = new Intl.ListFormat("en-GB").format(missing);
	return [missing.length === 1 ? `the column ${listed} is missing` : `the columns ${listed} are missing`];
}

/**
 * Returns a column name without case, accents, spaces and punctuation, so that "Order ID", "order_id" and
 * "orderId" name the same column.
 */
function plainName(text: string): string {
	return foldText(text).replace(/[\s_.'’°º-]/gu, "");
}

function adviceOn({ columns }: JobKind): string {
	const named = (isOptional: boolean) =>
		columns.filter((column) => (column.isOptional === true) === isOptional).map(({ name }) => name);
	return `The first line must name the columns: ${named(false).join(", ")}; if needed also ${named(true).join(", ")}.`;
}

function pickCells(cells: readonly string[], positions: ReadonlyMap<JobColumn, number>): Cells {
	return Object.fromEntries(
		[...positions].map(([{ name, keepsSpace, maxCharacters = MAX_CELL_CHARACTERS }, position]) => {
			// Control characters are replaced, because databases refuse them. No order id contains the replacement.
			const cell = undoDefusing(cells[position] ?? "")
				.slice(0, maxCharacters)
				.toWellFormed()
				.replace(/\p{Cc}/gu, "\u{FFFD}");
			return [name, keepsSpace === true ? cell : cell.trim()];
		}),
	);
}
