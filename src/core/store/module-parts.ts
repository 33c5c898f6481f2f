// What a module tells the store about its part in changes of conversions: the tables to which moves add rows, and reads for
// many keys at once. Both databases make their SQL from these descriptions.

import type { ColumnType } from "./tables/conversions.ts";

/** The type of each column of a row but its number, which the database gives it. */
export type ColumnsOf<Row> = Readonly<Record<Exclude<keyof Row, "id">, ColumnType>>;

/** A row of a module. If it is about a conversion that the batch starts, it has the provisional id of that. */
export type ModuleRow = {
	conversion_id: number | null;
};

export type BatchKind = "sales" | "decisions" | "corrections";

/** A table of a module to which moves add rows. */
export interface ModuleTable<Row extends ModuleRow = ModuleRow> {
	name: string;
	columns: ColumnsOf<Row>;
	/** True if a row replaces the conversion's earlier one. */
	isOnePerConversion?: true;
	repeatedIn?: RepeatedIn;
	/**
	 * The kind of batch that most often has rows of this table. PostgreSQL gets a statement of its own for it. Other batches
	 * with such rows use a statement that writes all tables, which takes longer.
	 */
	writtenWith: BatchKind;
	add(rows: readonly Row[]): AddedRows;
}

/** A table that repeats columns of each new row. Its column `idColumn` has the id of the row. */
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

/** Clause that makes the insert of a row replace the conversion's earlier one. */
export function replacing(columns: Readonly<Record<string, ColumnType>>): string {
	const set = Object.keys(columns).map((column) => `${column} = excluded.${column}`);
	return `on conflict (conversion_id) do update set ${set.join(", ")}`;
}

export type Key = Readonly<Record<string, string | number>>;

/** A read of the rows for many keys. Define it once, at the top level of a file. */
export interface KeyedRead<Asked extends Key, Row> {
	/** The columns of a key. */
	key: Readonly<Record<keyof Asked, ColumnType>>;
	/**
	 * The query for one key, whose columns are its parameters, such as `:programme_id`. It must name the columns that it
	 * returns, because a later program may have added some.
	 */
	text: string;
	/** Makes the row from what the database returns. */
	rowOf(found: object): Row;
}

/** Defines a read whose key is an id. */
export function readById<Row>(
	text: string,
	rowOf: (found: object) => Row = (found) => found as Row,
): KeyedRead<{ id: number }, Row> {
	return { key: { id: "bigint" }, text, rowOf };
}

export function keysOf(ids: readonly number[]): { id: number }[] {
	return ids.map((id) => ({ id }));
}
