// A process that migrates one database on command and reports what it did. Its arguments are the kind and location of
// the database. With "killed" it dies after the first migration.

import { once } from "node:events";
import { START_MS } from "./clock.ts";
import { DATABASE_KINDS, openStore } from "./test-database.ts";

const [, , kindArgument, location = "", end] = process.argv;
const kind = DATABASE_KINDS.find((known) => known === kindArgument);
if (kind === undefined) throw new Error("usage: migrating-process.ts SQLite|PostgreSQL location [killed]");

process.send?.("ready");
await once(process, "message");
const store = openStore(kind, location);
const tell = () => (end === "killed" ? process.kill(process.pid, "SIGKILL") : undefined);
const report = await store.migrate(START_MS, { tell });
await store.close();
process.send?.(report);
process.disconnect?.();
