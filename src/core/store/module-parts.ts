// Description of a module's part in changes of conversions: the tables to which moves add rows, and reads for many
// keys at once. Both databases generate their SQL from these descriptions.

import type { ColumnType } from "./tables/conversions.ts";

/** Types of the columns of a row, except its id, which the database assigns. */
export type ColumnsOf<Row> = Readonly<Record<Exclude<keyof Row, "id">, ColumnType>>;

/**
 * A row of a module. If it is about a conversion that the batch starts, it contains the provisional id of that
 * conversion.
 */
export type ModuleRow = {
	conversion_id: number | null;
};

export type BatchKind = "sales" | "decisions" | "corrections";

export interface ModuleTable<Row extends ModuleRow = ModuleRow> {
	name: string;
	columns: ColumnsOf<Row>;
	/** True if a new row replaces the conversion's earlier row in this table. */
	isOnePerConversion?: true;
	repeatedIn?: RepeatedIn;
	/**
	 * Kind of batch that most often has rows of this table. PostgreSQL gets a separate statement for this kind. Other
	 * batches with such rows use a statement that writes all tables, which takes longer.
	 */
	writtenWith: BatchKind;
	add(rows: readonly Row[]): AddedRows;
}

/** Table that repeats columns of each new row. Its column `idColumn` contains the id of that row. */
export interface RepeatedIn<Column extends string = string> {
	name: string;
	idColumn: string;
	columns: readonly Column[];
}

export interface AddedRows {
	table: ModuleTable;
	rows: readonly ModuleRow[];
}

export function moduleTable<Row extends ModuleRow>(
	description: Omit<ModuleTable<Row>, "add"> & { repeatedIn?: RepeatedIn<keyof Row & string> },
): ModuleTable<Row> {
	if (description.isOnePerConversion && description.repeatedIn !== undefined)
		throw new Error("a row that replaces another one cannot be repeated in a second table");
	const table: ModuleTable<Row> = { ...description, add: (rows) => ({ table, rows }) };
	return table;
}

/** Returns the ON CONFLICT clause that makes a new row replace the conversion's earlier row. */
export function replacing(columns: Readonly<Record<string, ColumnType>>): string {
	const set = Object.keys(columns).map((column) => `${column} = excluded.${column}`);
	return `on conflict (conversion_id) do update set ${set.join(", ")}`;
}

export type Key = Readonly<Record<string, string | number>>;

/** A read of the rows for many keys. It must be defined once, at the top level of a file. */
export interface KeyedRead<Asked extends Key, Row> {
	key: Readonly<Record<keyof Asked, ColumnType>>;
	/**
	 * Query for one key. Its parameters are the columns of the key, such as `:programme_id`. It must name the columns
	 * that it returns, because a later schema may have more.
	 */
	text: string;
	rowOf(found: object): Row;
}

export function readById<Row>(
	text: string,
	rowOf: (found: object) => Row = (found) => found as Row,
): KeyedRead<{ id: number }, Row> {
	return { key: { id: "bigint" }, text, rowOf };
}

export function keysOf(ids: readonly number[]): { id: number }[] {
	return ids.map((id) => ({ id }));
}
