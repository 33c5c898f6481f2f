// How moves are written: conversions that start, change or start anew, and their history. Each function takes a set
// and is one statement on PostgreSQL however large the set is. Rows that somebody changed since they were read stay as
// they are.

import { type AnnouncedBody, type Change, hotWrites, type MoveLink, type NewMove } from "../hot-writes.ts";
import type { Db } from "../store.ts";
import type { Conversion, NewConversion } from "./conversions.ts";

export type { Change, NewMove } from "../hot-writes.ts";

/** Returns those that were stored: not the ones whose order the programme already has. */
export async function insertConversions(
	trx: Db,
	conversions: readonly NewConversion[],
): Promise<Conversion[]> {
	return conversions.length === 0 ? [] : hotWrites(trx).insertConversions(trx, conversions);
}

/**
 * Returns the ids of those that were changed. Status and confirmation together tell whether somebody else was there in
 * between: every move changes one of the two.
 */
export async function updateUnlessChanged(trx: Db, changes: readonly Change[]): Promise<Set<number>> {
	return changes.length === 0 ? new Set() : hotWrites(trx).updateUnlessChanged(trx, changes);
}

/** Returns the ids of those that were removed, to be inserted again under a new number. */
export async function removeUnlessChanged(trx: Db, conversions: readonly Conversion[]): Promise<Set<number>> {
	return conversions.length === 0 ? new Set() : hotWrites(trx).removeUnlessChanged(trx, conversions);
}

/** The history follows a conversion to its new number. */
export async function relinkMoves(trx: Db, links: readonly MoveLink[]): Promise<void> {
	if (links.length > 0) await hotWrites(trx).relinkMoves(trx, links);
}

/**
 * A statement of its own, behind those that changed the conversions: on PostgreSQL it then sees all their earlier moves
 * as ended, and listeners are told of a conversion's moves in their order (see `moveKey` in postgres.ts).
 */
export async function insertMoves(trx: Db, moves: readonly NewMove[]): Promise<void> {
	if (moves.length > 0) await hotWrites(trx).insertMoves(trx, moves);
}

/** Whoever reads the events later must see what was announced then, not what the conversion has become since. */
export async function keepAnnouncedBodies(trx: Db, bodies: readonly AnnouncedBody[]): Promise<void> {
	if (bodies.length > 0) await hotWrites(trx).keepAnnouncedBodies(trx, bodies);
}
