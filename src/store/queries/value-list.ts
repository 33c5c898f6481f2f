// Values that a statement brings along as a table of its own, so that many rows are changed by one statement on both
// databases.

import { type RawBuilder, sql } from "kysely";

/** The columns of the list, with their types: PostgreSQL takes a value in a list for text unless it is told otherwise. */
type Columns = Readonly<Record<string, "text" | "integer" | "bigint">>;

/** To stand behind `with`: `name (columns) as (values …)`. There must be a row. */
export function valueList<List extends Columns>(
	name: string,
	columns: List,
	rows: readonly Readonly<Record<keyof List & string, string | number | null>>[],
): RawBuilder<unknown> {
	const names = Object.keys(columns);
	const values = rows.map((row: Readonly<Record<string, string | number | null>>) =>
		names.map((column) => sql`cast(${row[column] ?? null} as ${sql.raw(columns[column] ?? "text")})`),
	);
	return sql`${sql.ref(name)} (${sql.join(names.map((column) => sql.ref(column)))}) as (values ${sql.join(
		values.map((row) => sql`(${sql.join(row)})`),
	)})`;
}
