// Applies every migration, and a made-up one, to a database in a separate process, when the test sends a message. The
// process then reports the result. Its arguments are the kind and location of the database. With a third argument
// "killed", the process kills itself after the first migration.

import { once } from "node:events";
import { START_MS } from "./clock.ts";
import { WITH_MADE_UP } from "./made-up-migration.ts";
import { DATABASE_KINDS, openStore } from "./test-database.ts";

const [, , kindArgument, location = "", end] = process.argv;
const kind = DATABASE_KINDS.find((candidate) => candidate === kindArgument);
if (kind === undefined) throw new Error("usage: migrating-process.ts SQLite|PostgreSQL location [killed]");

process.send?.("ready");
await once(process, "message");
const store = openStore(kind, location);
const tell = () => (end === "killed" ? process.kill(process.pid, "SIGKILL") : undefined);
const report = await store.migrate(START_MS, { migrations: WITH_MADE_UP, tell });
await store.close();
process.send?.(report);
process.disconnect?.();
