// Lets a test act at the worst moment, between two statements of another transaction.

import { type KyselyPlugin, sql } from "kysely";
import type { Db } from "#core/store/store.ts";

/** Runs `interrupt` once, after statement number `after` of the transaction (counted from one). */
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
 * Returns whether another connection waits for a lock of this transaction (PostgreSQL only). pg_stat_activity cannot
 * show this. Within a transaction that view does not change after its first use, so clients that connect later are
 * missing.
 */
export async function holdsSomebodyUp(trx: Db): Promise<boolean> {
	const { rows } = await sql`select 1 from pg_locks
		where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(trx);
	return rows.length > 0;
}
