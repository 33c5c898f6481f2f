// Statements that run for every batch of calls or results on PostgreSQL. Their texts are constant and take sets as
// arrays, so each is sent under a name: a connection parses and plans it once instead of every time.

import { createHash } from "node:crypto";
import { CompiledQuery } from "kysely";
import type { Db } from "../schema/tables.ts";

export interface HotStatement<Row> {
	readonly text: string;
	run(trx: Db, parameters: readonly (string | number | null)[]): Promise<Row[]>;
}

/** PostgreSQL's names have 63 bytes. This many letters of a hash are as good as all of it. */
const NAME_LETTERS = 22;

const NAMES = new Map<string, string>();

/**
 * To be made once, outside of any function. The text must name the columns that it returns: with `*`, a column that a
 * later program adds to the table makes every connection that knows the statement refuse it. After five runs PostgreSQL
 * may stay with a plan that knows no parameter: test/contract/store-plans looks at that plan, too.
 */
export function hotStatement<Row>(text: string): HotStatement<Row> {
	// By its text: behind a pool that mixes programs up, a name never means another statement than ours.
	const hash = createHash("sha256").update(text).digest("base64url");
	NAMES.set(text, `ringback_${hash.slice(0, NAME_LETTERS)}`);
	return {
		text,
		run: async (trx, parameters) =>
			(await trx.executeQuery<Row>(CompiledQuery.raw(text, [...parameters]))).rows,
	};
}

/** Undefined for every other statement: those are planned for the parameters they come with. */
export function hotStatementName(text: string): string | undefined {
	return NAMES.get(text);
}

// A column of many rows as one parameter, in PostgreSQL's own spelling of an array: the driver's took 3 µs of a result's
// time in a profile.

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
