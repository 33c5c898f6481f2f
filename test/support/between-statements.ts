// Lets a test do something at the worst moment: between two statements of somebody else's transaction.

import { type KyselyPlugin, sql } from "kysely";
import type { Db } from "../../src/store/store.ts";

/** Runs `interrupt` once, after the transaction's statement number `after` (counted from one). */
export function interruptAfter(trx: Db, after: number, interrupt: () => Promise<unknown>): Db {
	let statements = 0;
	const plugin: KyselyPlugin = {
		transformQuery: ({ node }) => node,
		async transformResult({ result }) {
			statements++;
			if (statements === after) await interrupt();
			return result;
		},
	};
	return trx.withPlugin(plugin);
}

/**
 * On PostgreSQL: somebody waits for what this transaction has locked. Not by pg_stat_activity: a transaction sees that as
 * it was when it first looked, and whoever connects later is not in it.
 */
export async function holdsSomebodyUp(trx: Db): Promise<boolean> {
	const { rows } = await sql`select 1 from pg_locks
		where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(trx);
	return rows.length > 0;
}
