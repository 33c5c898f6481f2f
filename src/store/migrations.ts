// Forward-only migrations, in SQL that both databases read. Nothing has been released yet: until then the first
// schema is changed in place, in `tables/`. After that a migration is never edited, and the next change is the next
// entry.

import { auditTables } from "./tables/audit.ts";
import { bulkTables } from "./tables/bulk.ts";
import { choreTables } from "./tables/chores.ts";
import { conversionTables } from "./tables/conversions.ts";
import { deliveryTables } from "./tables/deliveries.ts";
import type { Dialect } from "./tables/dialect.ts";
import { inboundTables } from "./tables/inbound.ts";
import { keyTables } from "./tables/keys.ts";
import { linkTables } from "./tables/links.ts";
import { mailTables } from "./tables/mails.ts";
import { noticeTables } from "./tables/notices.ts";
import { peopleTables } from "./tables/people.ts";
import { programmeTables } from "./tables/programmes.ts";
import { signInTables } from "./tables/sign-in.ts";

export interface Migration {
	name: string;
	/** True when a program that does not know this migration must not run on the schema it leaves. */
	isBreaking: boolean;
	/** Still changed in place: a database that was made with another form of it is told from ours by its statements. */
	isUnreleased?: true;
	statements(dialect: Dialect): readonly string[];
}

/** The position in this list, counted from one, is the schema's version. */
export const MIGRATIONS: readonly Migration[] = [
	{ name: "first schema", isBreaking: true, isUnreleased: true, statements: firstSchema },
];

function firstSchema(dialect: Dialect): readonly string[] {
	return [
		peopleTables,
		linkTables,
		signInTables,
		programmeTables,
		keyTables,
		conversionTables,
		deliveryTables,
		noticeTables,
		inboundTables,
		bulkTables,
		auditTables,
		mailTables,
		choreTables,
	].flatMap((tablesOf) => tablesOf(dialect));
}
