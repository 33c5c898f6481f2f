// Programmes and their Postback URLs.

import type { Insertable, Selectable, Updateable } from "kysely";
import type { Rates } from "../../domain/credit.ts";
import { type Locked, lockRow } from "../locked.ts";
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

/** Returns the public id of the oldest programme. */
export async function findFirstProgramme(db: Db): Promise<string | undefined> {
	const query = db.selectFrom("programmes").select("public_id").orderBy("id").limit(1);
	return (await query.executeTakeFirst())?.public_id;
}

export async function findProgrammesByPublicId(db: Db, publicIds: readonly string[]): Promise<Programme[]> {
	if (publicIds.length === 0) return [];
	return db.selectFrom("programmes").selectAll().where("public_id", "in", publicIds).execute();
}

/** Names are not unique, so one name can find several programmes. */
export async function findProgrammesByName(db: Db, names: readonly string[]): Promise<Programme[]> {
	if (names.length === 0) return [];
	return db.selectFrom("programmes").selectAll().where("name", "in", names).orderBy("id").execute();
}

export async function findProgrammesById(db: Db, ids: readonly number[]): Promise<Map<number, Programme>> {
	if (ids.length === 0) return new Map();
	const rows = await db.selectFrom("programmes").selectAll().where("id", "in", ids).execute();
	return new Map(rows.map((row) => [row.id, row]));
}

export function ratesOf({ commission_rate, fee_rate }: Programme): Rates {
	return { commission: commission_rate, fee: fee_rate };
}

export async function updateProgramme(
	trx: Db,
	{ id }: Locked<Programme>,
	change: Updateable<ProgrammesTable>,
): Promise<void> {
	await trx.updateTable("programmes").set(change).where("id", "=", id).execute();
}

/** The programme's lock also covers its people, keys, secrets and Postback URL, which change only while it is held. */
export function lockProgramme(trx: Db, programmeId: number): Promise<Locked<Programme> | undefined> {
	return lockRow(trx, trx.selectFrom("programmes").selectAll().where("id", "=", programmeId));
}

/** Saves the Postback URL. */
export async function setEndpoint(
	trx: Db,
	programme: Locked<Programme>,
	url: string,
	nowMs: number,
): Promise<void> {
	const { id } = await trx
		.insertInto("endpoints")
		.values({ receiver_id: programme.id, url, saved_at_ms: nowMs })
		.returning("id")
		.executeTakeFirstOrThrow();
	await updateProgramme(trx, programme, { endpoint_id: id });
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

/** Lists all Postback URLs that were ever saved, the newest first. */
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
 * Removes the Postback URL. After the commit nothing of the old epoch is sent. This includes an event that was written by a
 * transaction that still saw the URL, because the engine cancels deliveries of an older epoch.
 */
export async function removeEndpoint(trx: Db, programme: Locked<Programme>, nowMs: number): Promise<void> {
	await updateProgramme(trx, programme, {
		endpoint_id: null,
		endpoint_epoch: programme.endpoint_epoch + 1,
	});
	// No callback is sent any more, so none will succeed and end the notice that callbacks fail.
	await endTroubles(trx, [programme.id], "removal", nowMs);
}
