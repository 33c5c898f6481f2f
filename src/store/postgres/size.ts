// How large a PostgreSQL database is, and its queue, without reading the queue when it is long.

import { type Kysely, sql } from "kysely";
import type { Schema } from "../schema/tables.ts";
import type { StoreSize } from "../store.ts";

/** Up to here the rows are counted, which takes some ten milliseconds; beyond it what the last vacuum saw is told. */
const MAX_COUNTED_QUEUED = 100_000;

export async function measurePostgres(db: Kysely<Schema>): Promise<StoreSize> {
	const { rows } = await sql<StoreSize & { seen: number }>`
		select pg_database_size(current_database()) as "databaseBytes",
			(select count(*) from (select 1 from queue limit ${sql.lit(MAX_COUNTED_QUEUED)}) few) as queued,
			(select reltuples::bigint from pg_class where oid = 'queue'::regclass) as seen`.execute(db);
	const [size] = rows;
	if (size === undefined) throw new Error("a select without a table always has a row");
	const { databaseBytes, queued, seen } = size;
	return { databaseBytes, queued: queued < MAX_COUNTED_QUEUED ? queued : Math.max(queued, seen) };
}
