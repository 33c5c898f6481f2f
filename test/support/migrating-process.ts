// A process of its own that migrates one database when it is told to go, and reports what it did.
// Started by a test with a database's kind and location as arguments, and "made-up" to make the made-up migrations, too.

import { once } from "node:events";
import { MIGRATIONS } from "../../src/store/migrations.ts";
import { START_MS } from "./clock.ts";
import { WITH_WEIGHT } from "./made-up-migrations.ts";
import { DATABASE_KINDS, openStore } from "./test-database.ts";

const [, , kindArgument, location = "", which] = process.argv;
const kind = DATABASE_KINDS.find((known) => known === kindArgument);
if (kind === undefined) throw new Error("usage: migrating-process.ts SQLite|PostgreSQL location [made-up]");

process.send?.("ready");
await once(process, "message");
const store = openStore(kind, location);
const report = await store.migrate(START_MS, {
	migrations: which === "made-up" ? WITH_WEIGHT : MIGRATIONS,
	...(which === "made-up" ? { tell: (progress: string) => process.send?.({ progress }) } : {}),
});
await store.close();
process.send?.(report);
process.disconnect?.();
