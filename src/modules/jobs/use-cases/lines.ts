// Stores the lines of a job. A batch of lines is one JSON text, with the cells in the order of the columns
// that the kind of job defines. The verdicts on the batch are a second text. The result file is made from
// both texts. Lines about the same thing are found before any line is judged.

import { hash } from "node:crypto";
import * as z from "zod";
import { csvFile } from "#core/conversions/csv-file.ts";
import type { Db } from "#core/store/store.ts";
import { isDatabaseUnavailable } from "#core/store/unavailable.ts";
import { findBatch, type Job, type JobBatch, saveBatch } from "../store/jobs.ts";
import { RESULT_COLUMNS } from "./file.ts";
import {
	type Cells,
	cellOf,
	type JobKind,
	type JobRow,
	needsFixing,
	needsNoChange,
	ROW_VERDICTS,
	type RowVerdict,
} from "./kind.ts";
import { JOB_KINDS } from "./kinds.ts";

/**
 * A line of a file. `settled` is its verdict if comparing it with other lines was enough to judge it,
 * otherwise null.
 */
export interface SettledRow extends JobRow {
	settled: RowVerdict | null;
}

export interface JudgedRow extends JobRow {
	verdict: RowVerdict;
}

const VERDICT = z.tuple([z.enum(ROW_VERDICTS), z.string().nullable(), z.string().optional()]);
const LINES = z.object({
	columns: z.array(z.string()),
	rows: z.array(z.tuple([z.number(), z.array(z.string()), VERDICT.nullable()])),
});
const VERDICTS = z.array(VERDICT);

export function writeLines({ columns, found = [] }: JobKind, rows: readonly SettledRow[]): string {
	const names = [...columns.map(({ name }) => name), ...found];
	return JSON.stringify({
		columns: names,
		rows: rows.map(({ line, cells, settled }) => [
			line,
			names.map((name) => cellOf(cells, name)),
			settled === null ? null : partsOf(settled),
		]),
	} satisfies z.input<typeof LINES>);
}

export function readLines(json: string): SettledRow[] {
	const { columns, rows } = LINES.parse(JSON.parse(json));
	return rows.map(([line, cells, settled]) => ({
		line,
		cells: Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ""])),
		settled: settled === null ? null : verdictOf(settled),
	}));
}

export function writeVerdicts(rows: readonly JudgedRow[]): string {
	return JSON.stringify(rows.map(({ verdict }) => partsOf(verdict)) satisfies z.input<typeof VERDICTS>);
}

export function readVerdicts(json: string | null): RowVerdict[] {
	return VERDICTS.parse(JSON.parse(json ?? "[]")).map(verdictOf);
}

/**
 * Returns the lines of a stored batch with their verdicts, or an empty list if the batch has no verdicts yet.
 */
export function judgedRowsOf({ lines, verdicts }: Pick<JobBatch, "lines" | "verdicts">): JudgedRow[] {
	const judged = readVerdicts(verdicts);
	return readLines(lines).flatMap(({ line, cells }, index) => {
		const verdict = judged[index];
		return verdict === undefined ? [] : [{ line, cells, verdict }];
	});
}

/**
 * Stores further lines with their verdicts, after `before` lines that are stored already. Every batch except the last
 * has `batch_rows` lines, so a batch with fewer lines is filled up first.
 */
export async function appendLines(
	trx: Db,
	kind: JobKind,
	{ id, batch_rows: batchRows }: Pick<Job, "id" | "batch_rows">,
	before: number,
	rows: readonly JudgedRow[],
): Promise<void> {
	let pending: JudgedRow[] = [...rows];
	let seq = Math.floor(before / batchRows) + 1;
	if (before % batchRows > 0 && rows.length > 0) {
		const last = await findBatch(trx, id, seq);
		if (last === undefined) throw new Error("the last lines of a job are missing");
		pending = [...judgedRowsOf(last), ...rows];
	}
	for (let at = 0; at < pending.length; at += batchRows, seq++) {
		const batch = pending.slice(at, at + batchRows);
		const lines = writeLines(
			kind,
			batch.map((row) => ({ ...row, settled: null })),
		);
		await saveBatch(trx, { job_id: id, seq, lines, verdicts: writeVerdicts(batch) });
	}
}

function partsOf({ kind, detail, word }: RowVerdict): z.infer<typeof VERDICT> {
	return word === undefined ? [kind, detail] : [kind, detail, word];
}

function verdictOf([kind, detail, word]: z.infer<typeof VERDICT>): RowVerdict {
	return { kind, detail, money: null, word };
}

const FAILURE = z.object({
	/** "database" if the database was unreachable, too busy or full. "unexpected" for any other error. */
	cause: z.enum(["database", "unexpected"]),
	firstLine: z.number(),
	lastLine: z.number(),
	atMs: z.number(),
});

/** Reason why a batch could not be stored, for the job's page. The log has the error itself. */
export type BatchFailure = z.infer<typeof FAILURE>;

export function failureOf(error: unknown, rows: readonly JobRow[], atMs: number): BatchFailure {
	return {
		cause: isDatabaseUnavailable(error) ? "database" : "unexpected",
		firstLine: rows[0]?.line ?? 0,
		lastLine: rows.at(-1)?.line ?? 0,
		atMs,
	};
}

export function readFailure(json: string | null): BatchFailure | null {
	return json === null ? null : FAILURE.parse(JSON.parse(json));
}

/**
 * Returns some lines of a job with their verdicts, for a page. Lines count from 1. The list is empty if the
 * lines were removed.
 */
export async function readJudgedLines(
	db: Db,
	job: Pick<Job, "id" | "batch_rows">,
	firstLine: number,
	limit: number,
): Promise<JudgedRow[]> {
	const rows: JudgedRow[] = [];
	for (let seq = Math.ceil(firstLine / job.batch_rows); rows.length < limit; seq++) {
		const batch = await findBatch(db, job.id, seq);
		if (batch === undefined) break;
		for (const row of judgedRowsOf(batch)) {
			if (row.line >= firstLine && rows.length < limit) rows.push(row);
		}
	}
	return rows;
}

interface ResultRow extends JudgedRow {
	/** True if the line was applied, false if it was only previewed. */
	isApplied: boolean;
}

/**
 * Returns the result file in pieces. With `isOfProblems` it has only the lines that must be fixed. People can
 * correct these lines and upload the file again.
 */
export function jobResult(db: Db, job: Job, isOfProblems: boolean): AsyncGenerator<string> {
	const { columns, resultWords } = JOB_KINDS[job.kind];
	const wordOf = ({ verdict: { kind, word }, isApplied }: ResultRow) =>
		word ?? (kind === "change" ? resultWords.change[isApplied ? 1 : 0] : resultWords[kind]);
	const [line, result, detail] = RESULT_COLUMNS;
	return csvFile<ResultRow>(
		[
			[line, (row) => String(row.line)],
			[result, wordOf],
			[detail, ({ verdict }) => verdict.detail ?? ""],
			...columns.map(({ name }) => [name, (row: ResultRow) => cellOf(row.cells, name)] as const),
		],
		readResults(db, job, isOfProblems),
	);
}

async function* readResults(db: Db, job: Job, isOfProblems: boolean): AsyncGenerator<readonly ResultRow[]> {
	const isBegun = job.state === "done" || job.state === "stopped";
	for (let seq = 1, read = 0; read < job.row_count; seq++) {
		const batch = await findBatch(db, job.id, seq);
		// The job was discarded, or its lines were removed, while the file was downloaded. An exception breaks
		// off the download, so that nobody takes a part for the whole file.
		if (batch === undefined) throw new Error("the lines of a job were removed while they were read");
		const isApplied = isBegun && seq <= job.done_batches;
		const rows = judgedRowsOf(batch).map((row): ResultRow => ({ ...row, isApplied }));
		read += rows.length;
		yield isOfProblems ? rows.filter(({ verdict }) => verdict.kind === "refused") : rows;
	}
}

/**
 * Finds lines of a file that are about the same thing, and whether they agree. For each line it stores a hash
 * of the key (53 bits) and one of the content (30 bits), which together take about a hundred bytes. For a
 * file with half a million lines, the probability that two different keys have the same hash is 1 in 70,000.
 */
export interface SeenLines {
	note(rows: readonly JobRow[]): void;
	/** True if two or more lines are about the same thing. */
	readonly hasRepeats: boolean;
	/**
	 * Marks lines that contradict each other, so that all of them are refused. It must be called in the order
	 * of the file, after all lines were added by `note`.
	 */
	settle(rows: readonly SettledRow[]): SettledRow[];
}

export function createSeenLines(kind: JobKind): SeenLines {
	const whole = (cells: Cells) => JSON.stringify(kind.columns.map(({ name }) => cellOf(cells, name)));
	const compared = compareLines({ noun: kind.noun[0], keyOf: kind.keyOf, saysOf: kind.saysOf ?? whole });
	const shared = kind.shared === undefined ? null : compareLines(kind.shared);
	return {
		get hasRepeats() {
			return compared.hasRepeats || shared?.hasRepeats === true;
		},
		note(rows) {
			compared.note(rows);
			shared?.note(rows);
		},
		settle: (rows) =>
			rows.map((row) => {
				const verdict = compared.judge(row);
				const other = shared?.judge(row) ?? null;
				// Lines that agree about the shared thing are still about different things, so each is judged on its own.
				return { ...row, settled: verdict ?? (other?.kind === "refused" ? other : null) };
			}),
	};
}

interface ComparedThing {
	noun: string;
	keyOf(cells: Cells): string | null;
	saysOf(cells: Cells): string;
}

function compareLines(thing: ComparedThing) {
	/**
	 * Lines by the hash of their key. `other` is the number of the first later line with the same key and
	 * different content.
	 */
	const things = new Map<number, { line: number; says: number; isRepeated: boolean; other: number | null }>();
	let hasRepeats = false;
	const keyOf = ({ cells }: JobRow) => {
		const key = thing.keyOf(cells);
		if (key === null) return null;
		const digest = hash("sha1", key, "buffer");
		return digest.readUIntBE(0, 6) * 32 + (digest.readUInt8(6) >> 3);
	};
	const saysOf = ({ cells }: JobRow) => hash("sha1", thing.saysOf(cells), "buffer").readUInt32BE(0) >>> 2;
	function judge(row: JobRow): RowVerdict | null {
		const seen = things.get(keyOf(row) ?? -1);
		if (seen === undefined || !seen.isRepeated) return null;
		const { line, says, other } = seen;
		if (other === null) return line === row.line ? null : needsNoChange(`Line ${line} says the same.`);
		return needsFixing(
			`Line ${says === saysOf(row) ? other : line} says something else about the same ${thing.noun}. Keep one of the two.`,
		);
	}
	return {
		get hasRepeats() {
			return hasRepeats;
		},
		note(rows: readonly JobRow[]): void {
			for (const row of rows) {
				const [key, says] = [keyOf(row), saysOf(row)];
				if (key === null) continue;
				const seen = things.get(key);
				if (seen === undefined) things.set(key, { line: row.line, says, isRepeated: false, other: null });
				else {
					hasRepeats = seen.isRepeated = true;
					if (seen.says !== says) seen.other ??= row.line;
				}
			}
		},
		judge,
	};
}
