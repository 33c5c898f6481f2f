// Tables that PostgreSQL keeps in partitions by time, so that what is past its time is dropped and not deleted row by
// row. Each has a default partition, for rows that found no other. It is meant to stay empty: its rows go one by one.
//
// Making and dropping takes a lock that every query of the table waits behind, for as long as we wait for it. So we wait
// for half a second at most, and come again.

import { sql } from "kysely";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import { missingRanges, partitionWidthMs, type Range } from "./partition-plan.ts";
import type { Db, PartitionedTable, Partitions, Store } from "./store.ts";
import { waitedForLock } from "./unavailable.ts";

interface Partitioning {
	key: string;
	widthMs(retentionDays: number): number;
	/** How far into the future there are partitions. */
	aheadMs(widthMs: number): number;
}

/** They are looked after every hour; whatever keeps that from happening is to be noticed and mended before this ends. */
const AHEAD_AT_LEAST_MS = 7 * DAY_MS;
const BY_RETENTION: Pick<Partitioning, "widthMs" | "aheadMs"> = {
	widthMs: partitionWidthMs,
	aheadMs: (widthMs) => Math.max(widthMs, AHEAD_AT_LEAST_MS),
};

const PARTITIONED: Readonly<Record<PartitionedTable, Partitioning>> = {
	attempts: { key: "started_at_ms", ...BY_RETENTION },
	inbound_calls: { key: "at_ms", ...BY_RETENTION },
	// Good for ten minutes at most. Few at a time: every nonce that is spent is looked for in them.
	nonces: { key: "expires_at_ms", widthMs: () => HOUR_MS, aheadMs: () => 3 * HOUR_MS },
};

/** Any number will do, as long as every Ringback takes the same one. */
const PARTITIONS_LOCK = 7_464_226;
const LOCK_TIMEOUT_MS = 500;
const LOCK_TRIES = 3;
/** SQLSTATE check_violation: a row came into the default partition since we looked. */
const CHECK_VIOLATION = "23514";

/** What a table that is kept in partitions ends with, and what is made behind it. */
export const IN_PARTITIONS = {
	keyColumn: (key: string) => `, ${key}`,
	suffix: (key: string) => `partition by range (${key})`,
	rest: (table: string, key: string) => [
		`create table ${table}_other partition of ${table} default`,
		`create index ${table}_other_by_time on ${table}_other (${key})`,
	],
	/** Identity columns came to partitioned tables with PostgreSQL 17. */
	selfNumberedId: (table: string, key: string) =>
		`id bigint not null default nextval('${table}_ids'), primary key (id, ${key})`,
	before: (table: string) => [`create sequence ${table}_ids`],
};

export function createPartitions({ db, transact }: Pick<Store, "db" | "transact">): Partitions {
	return {
		async makeAhead(nowMs, retentionDays) {
			for (const table of Object.keys(PARTITIONED) as PartitionedTable[]) {
				await withPatience(() => transact((trx) => makeMissing(trx, table, nowMs, retentionDays)));
			}
		},
		async drop(table, olderThanMs) {
			const old = (await listPartitions(db, table)).filter(({ toMs }) => toMs <= olderThanMs);
			for (const { name } of old) await withPatience(() => transact((trx) => dropPartition(trx, name)));
			return old.length;
		},
	};
}

async function makeMissing(
	trx: Db,
	table: PartitionedTable,
	nowMs: number,
	retentionDays: number,
): Promise<void> {
	const { key, ...partitioning } = PARTITIONED[table];
	const widthMs = partitioning.widthMs(retentionDays);
	const wanted = { fromMs: nowMs, toMs: nowMs + partitioning.aheadMs(widthMs) };
	const findMissing = async () => missingRanges(await listPartitions(trx, table), wanted, widthMs);
	if ((await findMissing()).length === 0) return;
	await waitForOthers(trx);
	// Once more: somebody else may have made them just now.
	for (const range of await findMissing()) {
		if (await hasLooseRows(trx, table, key, range)) continue;
		await makePartition(trx, table, range);
	}
}

/** They belong into the range: PostgreSQL would refuse to make it. They stay where they are until they are too old. */
async function hasLooseRows(trx: Db, table: string, key: string, { fromMs, toMs }: Range): Promise<boolean> {
	const { rows } = await sql`select 1 from ${sql.table(`${table}_other`)}
		where ${sql.ref(key)} >= ${fromMs} and ${sql.ref(key)} < ${toMs} limit 1`.execute(trx);
	return rows.length > 0;
}

/** Attached, not made in its place: that would lock everybody out of the whole table, and this only of its default. */
async function makePartition(trx: Db, table: string, { fromMs, toMs }: Range): Promise<void> {
	const name = partitionName(table, fromMs);
	await sql.raw(`create table ${name} (like ${table} including all)`).execute(trx);
	await sql
		.raw(`alter table ${table} attach partition ${name} for values from (${fromMs}) to (${toMs})`)
		.execute(trx);
}

async function dropPartition(trx: Db, name: string): Promise<void> {
	await waitForOthers(trx);
	await sql.raw(`drop table if exists ${name}`).execute(trx);
}

/** One after the other: to make one and to drop one lock the same tables in another order. */
async function waitForOthers(trx: Db): Promise<void> {
	await sql`select pg_advisory_xact_lock(${PARTITIONS_LOCK})`.execute(trx);
	await sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`).execute(trx);
}

async function withPatience(work: () => Promise<void>): Promise<void> {
	for (let tried = 1; ; tried++) {
		try {
			return await work();
		} catch (error) {
			const hasLooseRow = error instanceof Error && "code" in error && error.code === CHECK_VIOLATION;
			// Or somebody reads the table.
			const isPassing = hasLooseRow || waitedForLock(error);
			if (!isPassing || tried === LOCK_TRIES) throw error;
		}
	}
}

/** Those with a range, the oldest first. */
export async function listPartitions(db: Db, table: string): Promise<(Range & { name: string })[]> {
	const { rows } = await sql<Range & { name: string }>`
		select name, bounds[1]::bigint as "fromMs", bounds[2]::bigint as "toMs"
		from (
			select part.relname as name, regexp_match(pg_get_expr(part.relpartbound, part.oid),
				'FROM \\(''(\\d+)''\\) TO \\(''(\\d+)''\\)') as bounds
			from pg_inherits join pg_class part on part.oid = pg_inherits.inhrelid
			where pg_inherits.inhparent = ${table}::regclass
		) as partition
		where bounds is not null
		order by 2`.execute(db);
	return rows;
}

/** attempts_20260115, nonces_2026011512 */
function partitionName(table: string, fromMs: number): string {
	const digits = new Date(fromMs).toISOString().replace(/\D/g, "");
	return `${table}_${fromMs % DAY_MS === 0 ? digits.slice(0, 8) : digits.slice(0, 10)}`;
}
