// Runs one suite on both databases: a real SQLite file and a real PostgreSQL database, created for the suite and
// removed after it.

import { after, before, describe } from "node:test";
import type { Store } from "#core/store/store.ts";
import type { TestDatabase } from "./sqlite-database.ts";
import { createMigratedDatabase, DATABASE_KINDS, type DatabaseKind, kindsMainly } from "./test-database.ts";

/**
 * Context of a suite. All fields except the kind are available when the first test starts, and `store` is
 * migrated.
 */
export interface SuiteDatabase {
	readonly kind: DatabaseKind;
	readonly location: string;
	readonly store: Store;
	/**
	 * A second client of the same database. On PostgreSQL it is a separate store, as on another machine. On
	 * SQLite it is the same store, because a second one in this process would block the first.
	 */
	readonly rival: Store;
}

/**
 * Runs a suite whose statements have the same text on both databases. A short run takes only `kind`, and a long one
 * takes both kinds. `kind` should be PostgreSQL if the suite is about two processes that act at the same moment.
 */
export function mainlyOn(kind: DatabaseKind, title: string, define: (database: SuiteDatabase) => void): void {
	for (const each of kindsMainly(kind)) onDatabase(each, title, define);
}

export function eachDatabase(title: string, define: (database: SuiteDatabase) => void): void {
	for (const kind of DATABASE_KINDS) onDatabase(kind, title, define);
}

/** Runs a suite about a feature that only one of the databases has. */
export function onDatabase(
	kind: DatabaseKind,
	title: string,
	define: (database: SuiteDatabase) => void,
): void {
	describe(`${title} (${kind})`, () => {
		let database: TestDatabase | undefined;
		let store: Store | undefined;
		let rival: Store | undefined;
		before(async () => {
			database = await createMigratedDatabase(kind);
			store = database.open();
		});
		after(() => database?.remove());
		define({
			kind,
			get location() {
				return requireValue(database).location;
			},
			get store() {
				return requireValue(store);
			},
			get rival() {
				rival ??= kind === "SQLite" ? requireValue(store) : requireValue(database).open();
				return rival;
			},
		});
	});
}

function requireValue<Value>(value: Value | undefined): Value {
	if (value === undefined) throw new Error("the database exists only from the first test on");
	return value;
}
