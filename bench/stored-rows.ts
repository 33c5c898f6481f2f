// Compares the rows of a database with what the service has accepted.

import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { withStore } from "./database.ts";

type Counts = Readonly<Record<string, number>>;

/** Returns the number of rows for each value of an SQL expression over the table. */
export function countRows(databaseUrl: string, table: string, expression: string): Promise<Counts> {
	return withStore(databaseUrl, async ({ db }) => {
		const { rows } = await sql<{ value: string; count: number | string }>`
			select ${sql.raw(expression)} as value, count(*) as count from ${sql.table(table)} group by 1`.execute(
			db,
		);
		return Object.fromEntries(rows.map(({ value, count }) => [value, Number(count)]));
	});
}

/** Throws unless the counts are as expected. A count of zero is the same as a missing one. */
export function expectCounts(what: string, counts: Counts, expected: Counts): void {
	if (isDeepStrictEqual(withoutZeros(counts), withoutZeros(expected))) return;
	throw new Error(`${what}: ${JSON.stringify(counts)}, and not ${JSON.stringify(expected)}`);
}

function withoutZeros(counts: Counts): Counts {
	return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}
