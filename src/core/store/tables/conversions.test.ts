// Compares COLUMNS with the table in a migrated database.

import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { createMigratedSqlite } from "../../../../test/support/sqlite-database.ts";
import { CHANGING, COLUMNS, CONVERSION, DECIDING, EMPTY_AT_START } from "./conversions.ts";

test("the table has the columns of COLUMNS, and those may be null that it says", async (t) => {
	const database = await createMigratedSqlite();
	t.after(database.remove);
	const { rows } = await sql<{ name: string; notnull: number }>`
		select name, "notnull" from pragma_table_info('conversions') where name not in ('id', 'list_kind', 'list_key')`.execute(
		database.open().db,
	);
	const inDatabase = rows.map(({ name, notnull }) => `${name}${notnull === 1 ? "" : " or null"}`);
	const described = Object.entries(COLUMNS).map(
		([name, column]) => `${name}${"isNullable" in column ? " or null" : ""}`,
	);
	deepEqual(described.toSorted(), inDatabase.toSorted());
});

test("the lists of columns have what their names say", () => {
	deepEqual(Object.keys(CONVERSION), Object.keys(COLUMNS));
	const changing = Object.entries(COLUMNS).flatMap(([name, column]) => ("changedBy" in column ? [name] : []));
	deepEqual(Object.keys(CHANGING), changing);
	deepEqual(
		Object.keys(CHANGING).filter((name) => !(name in DECIDING)),
		["basket_value", "refunded_value", "occurred_at_ms"],
	);
	deepEqual(new Set(Object.values(EMPTY_AT_START)), new Set([null]));
	deepEqual([CONVERSION.test, CONVERSION.programme_id, CONVERSION.rates], ["integer", "bigint", "text"]);
});
