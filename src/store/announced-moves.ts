// Moves in the order of their numbers, of everybody, with the conversions of one programme beside them. Of
// everybody, because a number that is missing can then be told from one that is another shop's.

import { type RawBuilder, sql } from "kysely";
import type { EventPosition } from "../domain/event-position.ts";
import type { Conversion } from "./conversions.ts";
import type { Db, Store } from "./store.ts";
import type { MovesTable } from "./tables/conversions.ts";

export interface PassedMove {
	id: number;
	/** Null for another programme's. */
	own: OwnMove | null;
}

export interface OwnMove {
	move: MovesTable["move"];
	toStatus: MovesTable["to_status"];
	reason: MovesTable["reason"];
	/** What it announced, where the conversion has changed since. */
	announcedBody: MovesTable["announced_body"];
	conversion: ConversionOfMove;
}

/** What does not change any more once an event was announced, or was kept with the move before it changed. */
export type ConversionOfMove = Pick<
	Conversion,
	| "public_id"
	| "order_id"
	| "event_type"
	| "basket_value"
	| "commission"
	| "network_fee"
	| "currency"
	| "test"
	| "occurred_at_ms"
>;

type Row = { id: number } & Pick<MovesTable, "move" | "to_status" | "reason" | "announced_body"> &
	({ public_id: null } | ConversionOfMove);

/**
 * What is behind a position: its gaps, and everything above it. One statement, so one view of the database: a move
 * that is seen has all earlier moves of its conversion in the same page or in one before.
 */
export async function listMovesBehind(
	db: Db,
	programmeId: number,
	{ high, gaps }: EventPosition,
	limit: number,
): Promise<PassedMove[]> {
	const stretches = [
		...gaps.map(({ first, last }) => sql`id between ${first} and ${last}`),
		sql`id > ${high}`,
	];
	const parts = stretches.map((stretch, index) => readStretch(stretch, limit, index));
	const { rows } = await sql<Row>`
		select passed.*, conversions.public_id, conversions.order_id, conversions.event_type,
			conversions.basket_value, conversions.commission, conversions.network_fee, conversions.currency,
			conversions.test, conversions.occurred_at_ms
		from (${sql.join(parts, sql` union all `)} order by id limit ${limit}) as passed
		left join conversions on conversions.id = passed.conversion_id and conversions.programme_id = ${programmeId}
		order by passed.id`.execute(db);
	return rows.map(readRow);
}

/** Wrapped, because SQLite takes a limit inside a union only so. */
function readStretch(stretch: RawBuilder<unknown>, limit: number, index: number): RawBuilder<unknown> {
	return sql`select * from (select id, move, to_status, reason, announced_body, conversion_id from moves
		where ${stretch} order by id limit ${limit}) as ${sql.id(`stretch_${index}`)}`;
}

function readRow({ id, move, to_status, reason, announced_body, ...conversion }: Row): PassedMove {
	if (conversion.public_id === null) return { id, own: null };
	return { id, own: { move, toStatus: to_status, reason, announcedBody: announced_body, conversion } };
}

export async function newestMoveId(db: Db): Promise<number> {
	const all = db.selectFrom("moves").select("id").where("id", ">", 0);
	return (await all.orderBy("id", "desc").limit(1).executeTakeFirst())?.id ?? 0;
}

export interface EndedTransactions {
	/** All older ones have ended. */
	oldest: number;
	/** One above the last that has ended. */
	next: number;
}

/** Asked before a look: whatever has ended by now is seen by it. */
export async function readEndedTransactions({
	db,
	kind,
}: Pick<Store, "db" | "kind">): Promise<EndedTransactions> {
	// One writer at a time: whoever has a number ends before the next is given.
	if (kind === "sqlite") return { oldest: 0, next: 0 };
	const { rows } = await sql<EndedTransactions>`
		select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest,
			pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next`.execute(db);
	return rows[0] ?? { oldest: 0, next: 0 };
}

/**
 * Asked after a look: whoever had taken a move's number by then is older, for each has written its conversion before.
 * A snapshot does not tell it: transactions that are under way may be above its upper end.
 */
export async function beginTransaction({ db, kind }: Pick<Store, "db" | "kind">): Promise<number> {
	if (kind === "sqlite") return 0;
	const { rows } = await sql<{ own: number }>`select pg_current_xact_id()::text::bigint as own`.execute(db);
	return rows[0]?.own ?? Number.MAX_SAFE_INTEGER;
}
