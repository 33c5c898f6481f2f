// Finds the columns of a database that contain a text. It reads every column of every table, and opens what is sealed.

import { sql } from "kysely";
import { type OpeningKeys, openText } from "#core/domain/sealing.ts";
import { readSealedValues } from "#core/store/queries/sealed-values.ts";
import type { Store } from "#core/store/store.ts";
import { SEARCH_INDEX } from "./text-columns.ts";

/** Returns the columns that contain one of the texts in any case, such as "people.email". */
export async function findColumnsWith(
	{ db }: Store,
	keyRing: OpeningKeys,
	texts: readonly string[],
): Promise<string[]> {
	const found = new Set<string>();
	const look = (column: string, value: unknown) => {
		const text = String(value).toLowerCase();
		if (texts.some((wanted) => text.includes(wanted.toLowerCase()))) found.add(column);
	};
	for (const { name: table } of await readTables(db)) {
		const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(db);
		for (const row of rows) {
			for (const [column, value] of Object.entries(row)) look(`${table}.${column}`, value);
		}
	}
	for await (const values of readSealedValues(db)) {
		for (const { at, boundTo, sealed } of values) {
			const opened = openText(keyRing, boundTo, sealed);
			if (opened === null) throw new Error(`${at.table}.${at.column} cannot be opened`);
			look(`${at.table}.${at.column}`, opened);
		}
	}
	return [...found].toSorted();
}

/** Returns all tables, without those of SQLite's search index, whose content is also in other tables. */
export async function readTables(db: Store["db"]) {
	const tables = await db.introspection.getTables();
	return tables.filter(({ name, isView }) => !isView && !SEARCH_INDEX.test(name));
}
