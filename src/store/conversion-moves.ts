// How moves are written: conversions that start, change or start anew, and their history. Each function takes a set
// and is one statement however large the set is. Rows that somebody changed since they were read stay as they are.

import { type Insertable, type Selectable, sql } from "kysely";
import type { Conversion, NewConversion } from "./conversions.ts";
import type { Db } from "./store.ts";
import type { ConversionsTable, MovesTable } from "./tables/conversions.ts";
import { valueList } from "./value-list.ts";

export type NewMove = Insertable<MovesTable>;

export interface Change {
	/** As it was read. */
	before: Conversion;
	after: Conversion;
}

/** Every column that a move may change. The rest is what a conversion is called and where it came from. */
const CHANGING = {
	status: "text",
	basket_value: "text",
	commission: "text",
	network_fee: "text",
	currency: "text",
	reason: "text",
	test: "integer",
	pixel_basket_value: "text",
	confirmed_at_ms: "bigint",
	decided_by: "text",
	occurred_at_ms: "bigint",
	window_ends_at_ms: "bigint",
	updated_at_ms: "bigint",
} as const satisfies Partial<Record<keyof Selectable<ConversionsTable>, string>>;

/** Returns those that were stored: not the ones whose order the programme already has. */
export async function insertConversions(
	trx: Db,
	conversions: readonly NewConversion[],
): Promise<Conversion[]> {
	if (conversions.length === 0) return [];
	return trx
		.insertInto("conversions")
		.values(conversions)
		.onConflict((conflict) => conflict.columns(["programme_id", "order_id", "event_type"]).doNothing())
		.returningAll()
		.execute();
}

/**
 * Returns the ids of those that were changed. Status and confirmation together tell whether somebody else was there in
 * between: every move changes one of the two.
 */
export async function updateUnlessChanged(trx: Db, changes: readonly Change[]): Promise<Set<number>> {
	if (changes.length === 0) return new Set();
	const rows = changes.map(({ before, after }) => ({
		...after,
		was_status: before.status,
		was_confirmed_at_ms: before.confirmed_at_ms,
	}));
	const { rows: changed } = await sql<{ id: number }>`
		with ${valueList("next", { id: "bigint", was_status: "text", was_confirmed_at_ms: "bigint", ...CHANGING }, rows)}
		update conversions
		set ${sql.join(Object.keys(CHANGING).map((column) => sql`${sql.ref(column)} = ${sql.ref(`next.${column}`)}`))}
		from next
		where conversions.id = next.id and conversions.status = next.was_status
			and conversions.confirmed_at_ms is not distinct from next.was_confirmed_at_ms
		returning conversions.id`.execute(trx);
	return new Set(changed.map(({ id }) => id));
}

/** Returns the ids of those that were removed, to be inserted again under a new number. */
export async function removeUnlessChanged(trx: Db, conversions: readonly Conversion[]): Promise<Set<number>> {
	if (conversions.length === 0) return new Set();
	const byStatus = Map.groupBy(conversions, ({ status }) => status);
	const removed = await trx
		.deleteFrom("conversions")
		.where((eb) =>
			eb.or(
				[...byStatus].map(([status, rows]) =>
					eb.and([
						eb("status", "=", status),
						eb(
							"id",
							"in",
							rows.map(({ id }) => id),
						),
					]),
				),
			),
		)
		.returning("id")
		.execute();
	return new Set(removed.map(({ id }) => id));
}

/** The history follows a conversion to its new number. */
export async function relinkMoves(
	trx: Db,
	links: readonly { from_id: number; to_id: number }[],
): Promise<void> {
	if (links.length === 0) return;
	await sql`with ${valueList("link", { from_id: "bigint", to_id: "bigint" }, links)}
		update moves set conversion_id = link.to_id from link where moves.conversion_id = link.from_id`.execute(
		trx,
	);
}

/**
 * A statement of its own, behind those that changed the conversions: on PostgreSQL it then sees all their earlier moves
 * as ended, and listeners are told of a conversion's moves in their order (see `moveKey` in postgres.ts).
 */
export async function insertMoves(trx: Db, moves: readonly NewMove[]): Promise<void> {
	if (moves.length > 0) await trx.insertInto("moves").values(moves).execute();
}

/** Whoever reads the events later must see what was announced then, not what the conversion has become since. */
export async function keepAnnouncedBodies(
	trx: Db,
	bodies: readonly { conversion_id: number; body: string }[],
): Promise<void> {
	if (bodies.length === 0) return;
	await sql`with ${valueList("kept", { conversion_id: "bigint", body: "text" }, bodies)}
		update moves set announced_body = kept.body from kept
		where moves.conversion_id = kept.conversion_id and moves.move = 'record'`.execute(trx);
}
