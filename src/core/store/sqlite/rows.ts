// Converts rows from arrays of values to objects. The row objects of node:sqlite have no prototype and no shared shape,
// so they take twice as long to create and are slower to read.

/**
 * Maximum number of cached statements. Kysely compiles a handful of different statements for each use case, so far
 * fewer are in use.
 */
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
