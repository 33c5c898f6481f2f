// Rows as arrays of values become objects. Left to node:sqlite, a row is an object without a prototype and without a
// shared shape, which takes twice as long to make and is slower for everybody who reads it.

/** Kysely compiles a handful of different statements for each use case, so far fewer than this are in use. */
export const MAX_CACHED_STATEMENTS = 500;

export function toRecords(
	columns: readonly string[],
	rows: readonly (readonly unknown[])[],
): Record<string, unknown>[] {
	return rows.map((values) => {
		const record: Record<string, unknown> = {};
		for (let at = 0; at < columns.length; at++) record[columns[at] ?? ""] = values[at];
		return record;
	});
}
