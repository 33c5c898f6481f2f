// Forward-only migrations, in SQL that both databases read. The SQL is in `schema/`, a file a release, and is never edited
// after its release: the next change is the next entry. What the tables have now is in `tables/`, as types.

import type { Dialect } from "./dialect.ts";
import { firstSchema } from "./release-1-0.ts";
import { engineSlots } from "./release-1-1.ts";

export interface Migration {
	name: string;
	/** True when a program that does not know this migration must not run on the schema it leaves. */
	isBreaking: boolean;
	/** Its stored name has a hash of its SQL: before 1.0.0 it was changed in place, and such a database is refused. */
	isHashed?: true;
	/**
	 * One transaction, which waits for locks for two seconds at a time while others work: nothing in it may read or write a
	 * large table. See CONTRIBUTING.md.
	 */
	statements(dialect: Dialect): readonly string[];
}

/** From here on retention deletes row by row, and partitions are not made any more. */
export const ROW_BY_ROW_VERSION = 2;

/** The position in this list, counted from one, is the schema's version. */
export const MIGRATIONS: readonly Migration[] = [
	{ name: "first schema", isBreaking: true, isHashed: true, statements: firstSchema },
	{ name: "engines own slots", isBreaking: true, statements: engineSlots },
];
