// Reads a CSV file of decisions: with commas, semicolons or tabs, in UTF-8 or UTF-16, with or without a byte order mark.
// What is wrong with the file as a whole refuses it; what is wrong with a row becomes that row's problem, with its line.

import { pipeline, Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import * as z from "zod";
import { undoDefusing } from "../domain/csv-cell.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Column, HEADER_ADVICE, readHeader } from "./bulk-header.ts";
import { asUtf8, FileRefusedError, MAX_LINE_BYTES, readWholeLines } from "./bulk-lines.ts";
import { type CheckedRow, checkRow, type RawRow } from "./bulk-row.ts";
import { BATCH_ROWS } from "./deps.ts";

/** What the largest networks take in one job. */
export const MAX_BULK_ROWS = 40_000;
/** As pages write it. */
export const MAX_BULK_ROWS_TEXT = String(MAX_BULK_ROWS).replace(/\B(?=(?:\d{3})+$)/g, "\u00a0");

const PARSED = z.object({ record: z.array(z.string()), info: z.object({ lines: z.number() }) });

export interface DecisionReader {
	/** A batch of rows, in the order of the file; the next one is read when it has been taken. */
	take(rows: readonly CheckedRow[]): Promise<void>;
	/** Lets everybody else get on in between. */
	yieldLoop(): Promise<void>;
}

/** How many rows there are. What was taken before a refusal is worth nothing. */
export async function readDecisions(
	bytes: AsyncIterable<Uint8Array>,
	reader: DecisionReader,
): Promise<Result<number>> {
	const blocks = readWholeLines(asUtf8(bytes));
	try {
		const first = await blocks.next();
		if (first.done === true) return refuseEmpty();
		return await readRecords(openParser(first.value, blocks), reader);
	} catch (error) {
		if (error instanceof FileRefusedError) return { ok: false, fault: error.fault };
		if (!(error instanceof CsvError)) throw error;
		return refuse("malformed_file", `${lineOf(error)} is not valid CSV: ${adviceOn(error)}`, "file");
	} finally {
		await blocks.return(undefined);
	}
}

function openParser(first: Buffer, others: AsyncIterable<Buffer>): AsyncIterable<unknown> {
	const parser = parse({
		delimiter: delimiterOf(first.toString("utf8", 0, MAX_LINE_BYTES)),
		bom: true,
		info: true,
		relax_column_count: true,
		skip_empty_lines: true,
		// A quote that is never closed would otherwise swallow the file.
		max_record_size: MAX_LINE_BYTES,
	});
	// Whatever goes wrong on the way is thrown to whoever reads the records.
	return pipeline(Readable.from(joinBlocks(first, others)), parser, () => undefined);
}

async function* joinBlocks(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
	yield first;
	yield* others;
}

async function readRecords(
	records: AsyncIterable<unknown>,
	{ take, yieldLoop }: DecisionReader,
): Promise<Result<number>> {
	let positions: ReadonlyMap<Column, number> | null = null;
	let batch: CheckedRow[] = [];
	let count = 0;
	let seen = 0;
	for await (const item of records) {
		// Blank rows count too: spreadsheets write them by the hundred thousand.
		if (seen++ % BATCH_ROWS === 0) await yieldLoop();
		const { record, info } = PARSED.parse(item);
		if (positions === null) {
			if (seen === 1 && isSeparatorLine(record)) continue;
			const header = readHeader(record);
			if (!header.ok) return header;
			positions = header.value;
			continue;
		}
		if (record.every((cell) => cell.trim() === "")) continue;
		if (count === MAX_BULK_ROWS) {
			return refuse(
				"too_many_rows",
				`The file has more than ${MAX_BULK_ROWS_TEXT} rows. Split it, and upload the parts one after the other.`,
				"file",
			);
		}
		count += 1;
		batch.push(checkRow(pickCells(record, positions, info.lines)));
		if (batch.length === BATCH_ROWS) {
			await take(batch);
			batch = [];
		}
	}
	if (positions === null) return refuseEmpty();
	if (count === 0) {
		return refuse(
			"malformed_file",
			"The file has a header but no rows. Add one line for each order.",
			"file",
		);
	}
	if (batch.length > 0) await take(batch);
	return succeed(count);
}

function refuseEmpty(): Result<never> {
	return refuse("malformed_file", `The file is empty. ${HEADER_ADVICE}`, "file");
}

function pickCells(record: readonly string[], positions: ReadonlyMap<Column, number>, line: number): RawRow {
	const cell = (column: Column) => undoDefusing(record[positions.get(column) ?? -1] ?? "");
	return {
		line,
		conversionId: cell("conversionId"),
		orderId: cell("orderId"),
		eventType: cell("eventType"),
		decision: cell("decision"),
		reason: cell("reason"),
	};
}

const SEPARATOR_LINE = /^\u{FEFF}?"?sep=([,;\t])"?\r?\n/iu;

/** Spreadsheets write semicolons where the comma is the decimal sign, and tabs when asked for "text". Some say so first. */
function delimiterOf(text: string): string {
	const said = SEPARATOR_LINE.exec(text)?.[1];
	if (said !== undefined) return said;
	const [firstLine = ""] = /^[^\r\n]*/.exec(text) ?? [];
	const counts = [",", ";", "\t"].map((sign) => ({ sign, count: firstLine.split(sign).length }));
	return counts.reduce((most, next) => (next.count > most.count ? next : most)).sign;
}

/** "sep=;" as the parser sees it: the sign that it names has parted it. */
function isSeparatorLine(record: readonly string[]): boolean {
	const [first = "", ...others] = record;
	return /^sep=[,;\t]?$/i.test(first) && others.every((cell) => cell === "");
}

function lineOf(error: CsvError): string {
	const lines: unknown = error["lines"];
	return typeof lines === "number" ? `Line ${lines}` : "The file";
}

function adviceOn(error: CsvError): string {
	switch (error.code) {
		case "CSV_QUOTE_NOT_CLOSED":
		case "CSV_MAX_RECORD_SIZE":
			return "a quotation mark is opened and never closed.";
		default:
			return "a quotation mark stands where none may be. Inside a quoted cell, write it twice.";
	}
}
