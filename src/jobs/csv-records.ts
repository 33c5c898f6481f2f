// Reads a CSV file as people's programs write it: with commas, semicolons or tabs, in UTF-8 or UTF-16, with or without a
// byte order mark. What is wrong with the file as a whole refuses it. What its lines mean is the caller's.

import { pipeline, Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import * as z from "zod";
import { BATCH_ROWS } from "../conversions/deps.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { asUtf8, FileRefusedError, MAX_LINE_BYTES, readWholeLines } from "./csv-lines.ts";

const PARSED = z.object({ record: z.array(z.string()), info: z.object({ lines: z.number() }) });

export interface CsvRecord {
	/** Where it ends in the file. */
	line: number;
	cells: readonly string[];
}

export interface RecordReader {
	/** The first line that says something. What it refuses refuses the file. */
	header(cells: readonly string[]): Result<unknown>;
	/** A batch of records, in the order of the file and without blank ones; the next is read when it has been taken. */
	take(records: readonly CsvRecord[]): Promise<Result<unknown>>;
	/** With the blank ones. Any number unless told. */
	maxLines?: number;
	/** Lets everybody else get on in between. */
	yieldLoop(): Promise<void>;
	/** What the first line must be, for whoever sends an empty file. */
	headerAdvice: string;
	/** What to add to a file that has a header and nothing else. */
	rowAdvice: string;
}

/** How many records there are. What was taken before a refusal is worth nothing. */
export async function readRecords(
	bytes: AsyncIterable<Uint8Array>,
	reader: RecordReader,
): Promise<Result<number>> {
	const blocks = readWholeLines(asUtf8(bytes), reader.maxLines ?? Number.POSITIVE_INFINITY);
	try {
		const first = await blocks.next();
		if (first.done === true) return refuseEmpty(reader);
		return await takeRecords(openParser(first.value, blocks), reader);
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

async function takeRecords(records: AsyncIterable<unknown>, reader: RecordReader): Promise<Result<number>> {
	let hasHeader = false;
	let batch: CsvRecord[] = [];
	let count = 0;
	let seen = 0;
	for await (const item of records) {
		// Blank rows count too: spreadsheets write them by the hundred thousand.
		if (seen++ % BATCH_ROWS === 0) await reader.yieldLoop();
		const { record: cells, info } = PARSED.parse(item);
		if (!hasHeader) {
			if (seen === 1 && isSeparatorLine(cells)) continue;
			const header = reader.header(cells);
			if (!header.ok) return header;
			hasHeader = true;
			continue;
		}
		if (cells.every((cell) => cell.trim() === "")) continue;
		count += 1;
		batch.push({ line: info.lines, cells });
		if (batch.length === BATCH_ROWS) {
			const taken = await reader.take(batch);
			if (!taken.ok) return taken;
			batch = [];
		}
	}
	if (!hasHeader) return refuseEmpty(reader);
	if (count === 0) {
		return refuse("malformed_file", `The file has a header but no rows. ${reader.rowAdvice}`, "file");
	}
	const taken = batch.length > 0 ? await reader.take(batch) : succeed(null);
	return taken.ok ? succeed(count) : taken;
}

function refuseEmpty({ headerAdvice }: RecordReader): Result<never> {
	return refuse("malformed_file", `The file is empty. ${headerAdvice}`, "file");
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
