// Forward-only migrations, in SQL that both databases read. Nothing has been released yet: until then the first
// schema is changed in place, in `tables/`. After that a migration is never edited, and the next change is the next
// entry.

import { auditTables } from "./tables/audit.ts";
import { bulkTables } from "./tables/bulk.ts";
import { choreTables } from "./tables/chores.ts";
import { conversionTables } from "./tables/conversions.ts";
import { deliveryTables } from "./tables/deliveries.ts";
import type { Dialect } from "./tables/dialect.ts";
import { importTables } from "./tables/imports.ts";
import { inboundTables } from "./tables/inbound.ts";
import { keyTables } from "./tables/keys.ts";
import { laneTables } from "./tables/lanes.ts";
import { linkTables } from "./tables/links.ts";
import { listenerTables } from "./tables/listeners.ts";
import { mailTables } from "./tables/mails.ts";
import { networkTables } from "./tables/network.ts";
import { noticeTables } from "./tables/notices.ts";
import { orderBlockTables } from "./tables/order-blocks.ts";
import { peopleTables } from "./tables/people.ts";
import { processTables } from "./tables/processes.ts";
import { programmeTables } from "./tables/programmes.ts";
import { signInTables } from "./tables/sign-in.ts";
import { traceTables } from "./tables/traces.ts";

export interface Migration {
	name: string;
	/** True when a program that does not know this migration must not run on the schema it leaves. */
	isBreaking: boolean;
	/** Still changed in place: a database that was made with another form of it is told from ours by its steps. */
	isUnreleased?: true;
	/** In order. One that was broken off goes on with the step it had come to. */
	steps(dialect: Dialect): readonly MigrationStep[];
}

/** Each must be quick, or leave everybody else at work while it is not. See CONTRIBUTING.md, with an example. */
export type MigrationStep =
	/** One transaction. It waits for locks for two seconds at a time: nothing in it may read or write a large table. */
	| { kind: "statements"; statements: readonly string[] }
	/** Built beside whoever writes. `on` is what stands behind "on": `moves (programme_id) where …`. */
	| { kind: "index"; name: string; on: string; isUnique?: true }
	/** `update table set …`, along its integer key, in batches with a transaction each. */
	| { kind: "backfill"; table: string; key: string; set: string };

/** The position in this list, counted from one, is the schema's version. */
export const MIGRATIONS: readonly Migration[] = [
	{ name: "first schema", isBreaking: true, isUnreleased: true, steps: firstSchema },
];

function firstSchema(dialect: Dialect): readonly MigrationStep[] {
	const tables = [
		networkTables,
		peopleTables,
		linkTables,
		signInTables,
		programmeTables,
		keyTables,
		conversionTables,
		orderBlockTables,
		deliveryTables,
		laneTables,
		noticeTables,
		inboundTables,
		listenerTables,
		bulkTables,
		importTables,
		auditTables,
		mailTables,
		choreTables,
		processTables,
		traceTables,
	];
	return [{ kind: "statements", statements: tables.flatMap((tablesOf) => tablesOf(dialect)) }];
}
