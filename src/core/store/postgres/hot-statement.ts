// Statements that run for every batch of calls or results on PostgreSQL. Their texts are constant and take sets as
// arrays. Each statement is prepared under a name, so that a connection parses and plans it once.

import { createHash } from "node:crypto";
import { CompiledQuery } from "kysely";
import type { Db } from "../schema/tables.ts";
import type { ColumnType } from "../tables/conversions.ts";

export interface HotStatement<Row> {
	readonly text: string;
	run(trx: Db, parameters: readonly (string | number | null)[]): Promise<Row[]>;
}

/**
 * Number of characters of the hash in a statement's name. PostgreSQL allows names of 63 bytes, and this many characters
 * make a name unique.
 */
const NAME_LETTERS = 22;

const NAMES = new Map<string, string>();

/**
 * Defines a hot statement. Call it once for each text. The text must name the columns that it returns.
 * With `*`, every connection that has prepared the statement would refuse it after a later program adds a column.
 * After five runs PostgreSQL may use a generic plan, so test/contract/store-plans.test.ts checks that plan too.
 */
export function hotStatement<Row>(text: string): HotStatement<Row> {
	// The name is derived from the text, so that it never refers to another statement, even behind a pooler that several
	// programs share.
	const hash = createHash("sha256").update(text).digest("base64url");
	NAMES.set(text, `ringback_${hash.slice(0, NAME_LETTERS)}`);
	return {
		text,
		run: async (trx, parameters) =>
			(await trx.executeQuery<Row>(CompiledQuery.raw(text, [...parameters]))).rows,
	};
}

/**
 * Returns the statement's name, or undefined if it is not a hot statement. Statements without a name are planned for
 * their parameters each time.
 */
export function hotStatementName(text: string): string | undefined {
	return NAMES.get(text);
}

// Formats a column of many rows as one parameter, as a PostgreSQL array literal. The driver's own formatting took 3
// µs for each result in a profile.

type Element = number | string | null;

export function arrayLiteral(values: readonly Element[]): string {
	return columnLiteral(values, (value) => value);
}

export function columnLiteral<Row>(rows: readonly Row[], read: (row: Row) => Element): string {
	let literal = "{";
	for (const row of rows) {
		if (literal.length > 1) literal += ",";
		literal += spellElement(read(row));
	}
	return `${literal}}`;
}

function spellElement(value: Element): number | string {
	if (value === null) return "NULL";
	if (typeof value === "number") return value;
	return `"${/["\\]/.test(value) ? value.replace(/["\\]/g, "\\$&") : value}"`;
}

// Passes sets of rows as parameters. Each column of a set is one array.

export type Columns = Readonly<Record<string, ColumnType>>;
export type RowOf<Column extends string> = Partial<Readonly<Record<Column, Element>>>;

export function arraysOf<Column extends string>(
	columns: Readonly<Record<Column, ColumnType>>,
	rows: readonly RowOf<NoInfer<Column>>[],
): string[] {
	const names = Object.keys(columns) as Column[];
	return names.map((name) => columnLiteral(rows, (row) => row[name] ?? null));
}

/**
 * Returns SQL for an array parameter. The planner does not look into the sub-select, so it expects the same number of rows
 * for every array. Otherwise it would expect fewer rows for a short array than in its generic plan, and would plan the
 * statement anew for each small batch. That took up to 1 ms for each statement of a single sale. After `any` the sub-select
 * needs another cast, because PostgreSQL would otherwise compare with its rows.
 */
export function arrayParameter(number: number, type: ColumnType | "float8"): string {
	return `(select $${number}::${type}[])`;
}

/**
 * Returns SQL that turns the array parameters of a set back into a table, with one row for each row of the set.
 * `before` is the number of parameters that precede the arrays.
 */
export function listText(name: string, columns: Columns, before = 0): string {
	const arrays = Object.values(columns).map((type, at) => arrayParameter(before + at + 1, type));
	return `unnest(${arrays.join(", ")}) as ${name}(${Object.keys(columns).join(", ")})`;
}
