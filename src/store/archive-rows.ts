// What leaves the database for the archive: conversions that are finished, with their moves, and audit entries. Listed
// first, removed once they are on a disk elsewhere, and only if nobody changed them in between.

import { type Selectable, sql } from "kysely";
import type { Status } from "../domain/conversion.ts";
import type { Cursor } from "../domain/cursor.ts";
import { newestConversions } from "./prune.ts";
import type { Db, Store } from "./store.ts";
import type { AuditEntriesTable } from "./tables/audit.ts";
import type { ConversionsTable, MovesTable } from "./tables/conversions.ts";

/** Expired ones go by the general retention. */
const FINISHED: readonly Status[] = ["APPROVED", "REJECTED", "REVERSED"];

export interface ArchivedConversion extends Selectable<ConversionsTable> {
	/** The programme's public id. */
	program_id: string;
	moves: readonly Selectable<MovesTable>[];
}

export interface OldRows<Row> {
	rows: readonly Row[];
	/** Where the next look begins; null when nothing behind it is old enough. */
	nextId: number | null;
}

/** Those whose last change is older. What still has events (a delivery that was sent again) stays until they are gone. */
export async function listOldConversions(
	store: Store,
	afterId: number,
	olderThanMs: number,
	limit: number,
): Promise<OldRows<ArchivedConversion>> {
	const looked = await store.lookAlongIndexes((db) =>
		db
			.selectFrom("conversions")
			.innerJoin("programmes", "programmes.id", "conversions.programme_id")
			.selectAll("conversions")
			.select("programmes.public_id as program_id")
			.where("conversions.id", ">", afterId)
			.orderBy("conversions.id")
			.limit(limit)
			.execute(),
	);
	// Numbers follow the time of recording: nothing behind a young row is old enough.
	const firstYoung = looked.findIndex((row) => row.created_at_ms >= olderThanMs);
	const isEnd = firstYoung !== -1 || looked.length < limit;
	const newest = await newestConversions(store);
	const old = (firstYoung === -1 ? looked : looked.slice(0, firstYoung)).filter(
		(row) => FINISHED.includes(row.status) && row.updated_at_ms < olderThanMs && !newest.includes(row.id),
	);
	const ids = old.map(({ id }) => id);
	const owed = new Set(ids.length === 0 ? [] : await withEvents(store.db, ids));
	const moves = Map.groupBy(
		ids.length === 0 ? [] : await movesOf(store.db, ids),
		(move) => move.conversion_id,
	);
	return {
		rows: old.flatMap((row) => (owed.has(row.id) ? [] : [{ ...row, moves: moves.get(row.id) ?? [] }])),
		nextId: isEnd ? null : (looked.at(-1)?.id ?? null),
	};
}

async function withEvents(db: Db, conversionIds: readonly number[]): Promise<number[]> {
	const rows = await db
		.selectFrom("events")
		.select("conversion_id")
		.distinct()
		.where("conversion_id", "in", conversionIds)
		.execute();
	return rows.map((row) => row.conversion_id);
}

async function movesOf(db: Db, conversionIds: readonly number[]): Promise<Selectable<MovesTable>[]> {
	return db
		.selectFrom("moves")
		.selectAll()
		.where("conversion_id", "in", conversionIds)
		.orderBy("id")
		.execute();
}

/** At most a batch. Those that somebody changed since they were listed stay. Resolves to how many went. */
export async function removeArchived(
	store: Store,
	conversions: readonly Pick<ArchivedConversion, "id" | "updated_at_ms">[],
): Promise<number> {
	if (conversions.length === 0) return 0;
	const listedAt = new Map(conversions.map((row) => [row.id, row.updated_at_ms]));
	return store.transact(async (trx) => {
		const found = await trx
			.selectFrom("conversions")
			.select(["id", "updated_at_ms"])
			.where("id", "in", [...listedAt.keys()])
			.where("status", "in", FINISHED)
			.modifyEnd(store.takeFreeRows)
			.execute();
		const unchanged = found.filter((row) => listedAt.get(row.id) === row.updated_at_ms).map(({ id }) => id);
		const owed = new Set(unchanged.length === 0 ? [] : await withEvents(trx, unchanged));
		const gone = unchanged.filter((id) => !owed.has(id));
		if (gone.length === 0) return 0;
		await raiseFeedStart(trx, store, gone);
		await trx.deleteFrom("moves").where("conversion_id", "in", gone).execute();
		await trx.deleteFrom("conversions").where("id", "in", gone).execute();
		return gone.length;
	});
}

/** Whoever listened last before the newest of them cannot be told of all that came after. */
async function raiseFeedStart(
	trx: Db,
	{ moveOrder: { transaction } }: Pick<Store, "moveOrder">,
	conversionIds: readonly number[],
): Promise<void> {
	const last = await trx
		.selectFrom("moves")
		.select(["id", transaction.as("at")])
		.where("conversion_id", "in", conversionIds)
		.orderBy(transaction, "desc")
		.orderBy("id", "desc")
		.limit(1)
		.executeTakeFirst();
	if (last === undefined) return;
	await sql`insert into feed_start (one, at, move_id) values (1, ${last.at}, ${last.id})
		on conflict (one) do update set at = excluded.at, move_id = excluded.move_id
		where (feed_start.at, feed_start.move_id) < (excluded.at, excluded.move_id)`.execute(trx);
}

/** The newest move that was removed; undefined while every one is still there. */
export async function findFeedStart(db: Db): Promise<Cursor | undefined> {
	return db.selectFrom("feed_start").select(["at", "move_id as id"]).executeTakeFirst();
}

/** The newest entry stays: SQLite gives the number of a removed last row again. */
export async function listOldAuditEntries(
	store: Store,
	afterId: number,
	olderThanMs: number,
	limit: number,
): Promise<OldRows<Selectable<AuditEntriesTable>>> {
	// One more than asked for: the last of all is never among them.
	const looked = await store.lookAlongIndexes((db) =>
		db
			.selectFrom("audit_entries")
			.selectAll()
			.where("id", ">", afterId)
			.orderBy("id")
			.limit(limit + 1)
			.execute(),
	);
	const rows = looked.slice(0, -1);
	const firstYoung = rows.findIndex((row) => row.at_ms >= olderThanMs);
	const old = firstYoung === -1 ? rows : rows.slice(0, firstYoung);
	return { rows: old, nextId: old.length < limit ? null : (old.at(-1)?.id ?? null) };
}

export async function removeAuditEntries(db: Db, ids: readonly number[]): Promise<number> {
	if (ids.length === 0) return 0;
	const { numDeletedRows } = await db.deleteFrom("audit_entries").where("id", "in", ids).executeTakeFirst();
	return Number(numDeletedRows);
}
