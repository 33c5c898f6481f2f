// Programmes and their Postback URLs.

import type { Insertable, Selectable, Updateable } from "kysely";
import type { Db } from "../store.ts";
import type { ProgrammesTable } from "../tables/programmes.ts";
import { endTroubles } from "./notices.ts";

export type Programme = Selectable<ProgrammesTable>;

export async function insertProgramme(db: Db, programme: Insertable<ProgrammesTable>): Promise<Programme> {
	return db.insertInto("programmes").values(programme).returningAll().executeTakeFirstOrThrow();
}

export async function findProgramme(db: Db, publicId: string): Promise<Programme | undefined> {
	const [found] = await findProgrammesByPublicId(db, [publicId]);
	return found;
}

/** The public id of the oldest; undefined while there is none. */
export async function findFirstProgramme(db: Db): Promise<string | undefined> {
	const query = db.selectFrom("programmes").select("public_id").orderBy("id").limit(1);
	return (await query.executeTakeFirst())?.public_id;
}

export async function findProgrammesByPublicId(db: Db, publicIds: readonly string[]): Promise<Programme[]> {
	if (publicIds.length === 0) return [];
	return db.selectFrom("programmes").selectAll().where("public_id", "in", publicIds).execute();
}

/** Names are not unique: there may be several of one. */
export async function findProgrammesByName(db: Db, names: readonly string[]): Promise<Programme[]> {
	if (names.length === 0) return [];
	return db.selectFrom("programmes").selectAll().where("name", "in", names).orderBy("id").execute();
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

export async function setEndpoint(db: Db, programmeId: number, url: string, nowMs: number): Promise<void> {
	const { id } = await db
		.insertInto("endpoints")
		.values({ receiver_id: programmeId, url, saved_at_ms: nowMs })
		.returning("id")
		.executeTakeFirstOrThrow();
	await db.updateTable("programmes").set({ endpoint_id: id }).where("id", "=", programmeId).execute();
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

/** Every Postback URL ever saved, the newest first. */
export async function listUrls(db: Db, programmeId: number, limit: number): Promise<string[]> {
	const rows = await db
		.selectFrom("endpoints")
		.select("url")
		.where("receiver_id", "=", programmeId)
		.orderBy("id", "desc")
		.limit(limit)
		.execute();
	return rows.map(({ url }) => url);
}

/**
 * From the commit on nothing of the old epoch goes out, also not an event written by a transaction that still saw the
 * URL: the engine that comes to it cancels it. The caller has locked the programme.
 */
export async function removeEndpoint(trx: Db, receiverId: number, nowMs: number): Promise<void> {
	await trx
		.updateTable("programmes")
		.set((eb) => ({ endpoint_id: null, endpoint_epoch: eb("endpoint_epoch", "+", 1) }))
		.where("id", "=", receiverId)
		.execute();
	// Nothing is sent any more, so nothing fails any more; and no success will come to end it.
	await endTroubles(trx, [receiverId], "removal", nowMs);
}
