// Programmes, their owners and their Postback URLs.

import type { Insertable, Selectable, Updateable } from "kysely";
import type { Db } from "./store.ts";
import type { ProgrammesTable } from "./tables/programmes.ts";

export type Programme = Selectable<ProgrammesTable>;

/** A claim number that no engine draws (theirs are not negative). It exists only inside the removing transaction. */
const REMOVAL_CLAIM = -1;

export async function insertProgramme(db: Db, programme: Insertable<ProgrammesTable>): Promise<Programme> {
	return db.insertInto("programmes").values(programme).returningAll().executeTakeFirstOrThrow();
}

export async function findProgramme(db: Db, publicId: string): Promise<Programme | undefined> {
	const [found] = await findProgrammesByPublicId(db, [publicId]);
	return found;
}

export async function findProgrammesByPublicId(db: Db, publicIds: readonly string[]): Promise<Programme[]> {
	if (publicIds.length === 0) return [];
	return db.selectFrom("programmes").selectAll().where("public_id", "in", publicIds).execute();
}

/** By public id; those that nobody has are left out. */
export async function findProgrammeIds(db: Db, publicIds: readonly string[]): Promise<Map<string, number>> {
	if (publicIds.length === 0) return new Map();
	const rows = await db
		.selectFrom("programmes")
		.select(["id", "public_id"])
		.where("public_id", "in", publicIds)
		.execute();
	return new Map(rows.map((row) => [row.public_id, row.id]));
}

export async function findProgrammesById(db: Db, ids: readonly number[]): Promise<Map<number, Programme>> {
	if (ids.length === 0) return new Map();
	const rows = await db.selectFrom("programmes").selectAll().where("id", "in", ids).execute();
	return new Map(rows.map((row) => [row.id, row]));
}

export async function updateProgramme(
	trx: Db,
	programmeId: number,
	change: Updateable<ProgrammesTable>,
): Promise<void> {
	await trx.updateTable("programmes").set(change).where("id", "=", programmeId).execute();
}

/**
 * Until the transaction ends, nobody else changes this programme's keys, secret or URL. An update that changes
 * nothing, because it means the same to both databases.
 */
export async function lockProgramme(trx: Db, programmeId: number): Promise<void> {
	await trx
		.updateTable("programmes")
		.set((eb) => ({ name: eb.ref("name") }))
		.where("id", "=", programmeId)
		.execute();
}

export async function addOwner(db: Db, programmeId: number, personId: number): Promise<void> {
	await db
		.insertInto("programme_owners")
		.values({ programme_id: programmeId, person_id: personId })
		.onConflict((conflict) => conflict.doNothing())
		.execute();
}

/** False when it was the last owner, or no owner at all. The caller holds the programme's lock. */
export async function removeOwner(trx: Db, programmeId: number, personId: number): Promise<boolean> {
	const { numDeletedRows } = await trx
		.deleteFrom("programme_owners")
		.where("programme_id", "=", programmeId)
		.where("person_id", "=", personId)
		.where((eb) =>
			eb.exists(
				eb
					.selectFrom("programme_owners as others")
					.select("others.person_id")
					.where("others.programme_id", "=", programmeId)
					.where("others.person_id", "<>", personId),
			),
		)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

export async function isOwner(db: Db, programmeId: number, personId: number): Promise<boolean> {
	const row = await db
		.selectFrom("programme_owners")
		.select("person_id")
		.where("programme_id", "=", programmeId)
		.where("person_id", "=", personId)
		.executeTakeFirst();
	return row !== undefined;
}

export async function ownerEmails(db: Db, programmeId: number): Promise<string[]> {
	const rows = await db
		.selectFrom("programme_owners")
		.innerJoin("people", "people.id", "programme_owners.person_id")
		.select("people.email")
		.where("programme_owners.programme_id", "=", programmeId)
		.orderBy("people.email")
		.execute();
	return rows.map((row) => row.email);
}

export async function setEndpoint(db: Db, programmeId: number, url: string, nowMs: number): Promise<void> {
	const { id } = await db
		.insertInto("endpoints")
		.values({ receiver_id: programmeId, url, saved_at_ms: nowMs })
		.returning("id")
		.executeTakeFirstOrThrow();
	await db.updateTable("programmes").set({ endpoint_id: id }).where("id", "=", programmeId).execute();
}

/**
 * Cancels what is pending, for good. The epoch goes up so that an event written by a transaction that
 * still saw the URL is cancelled too, when an engine comes to it.
 */
export async function removeEndpoint(db: Db, programmeId: number, nowMs: number): Promise<number> {
	await db
		.updateTable("programmes")
		.set((eb) => ({ endpoint_id: null, endpoint_epoch: eb("endpoint_epoch", "+", 1) }))
		.where("id", "=", programmeId)
		.execute();
	// Rows under claim are left to their engine: it learns of the removal when it settles or claims anew. The
	// others are taken first, because on PostgreSQL engines commit between these statements: without it a
	// delivery could lose its place in the queue and stay pending for ever.
	await db
		.updateTable("queue")
		.set({ claim: REMOVAL_CLAIM })
		.where("receiver_id", "=", programmeId)
		.where("claim", "is", null)
		.execute();
	const { numUpdatedRows } = await db
		.updateTable("deliveries")
		.set({ state: "cancelled", finished_at_ms: nowMs })
		.where("id", "in", (eb) =>
			eb
				.selectFrom("queue")
				.select("id")
				.where("receiver_id", "=", programmeId)
				.where("claim", "=", REMOVAL_CLAIM),
		)
		.executeTakeFirst();
	await db
		.deleteFrom("queue")
		.where("receiver_id", "=", programmeId)
		.where("claim", "=", REMOVAL_CLAIM)
		.execute();
	return Number(numUpdatedRows);
}

export async function presentUrl(db: Db, programmeId: number): Promise<string | undefined> {
	const row = await db
		.selectFrom("programmes")
		.innerJoin("endpoints", "endpoints.id", "programmes.endpoint_id")
		.select("endpoints.url")
		.where("programmes.id", "=", programmeId)
		.executeTakeFirst();
	return row?.url;
}
