// API keys of a programme, hashed, and the nonces of the requests signed with them: each is accepted once within the
// timestamp's window.

import type { Insertable, Selectable } from "kysely";
import type { Db } from "../store.ts";
import type { ApiKeysTable } from "../tables/programmes.ts";

export type ApiKey = Selectable<ApiKeysTable>;

export async function insertApiKey(db: Db, key: Insertable<ApiKeysTable>): Promise<void> {
	await db.insertInto("api_keys").values(key).execute();
}

export async function findApiKeysByHash(db: Db, hashes: readonly string[]): Promise<ApiKey[]> {
	if (hashes.length === 0) return [];
	return db.selectFrom("api_keys").selectAll().where("hash", "in", hashes).execute();
}

export async function isKeyUsable(db: Db, id: number): Promise<boolean> {
	const query = db
		.selectFrom("api_keys")
		.select("id")
		.where("id", "=", id)
		.where("revoked_at_ms", "is", null);
	return (await query.executeTakeFirst()) !== undefined;
}

/**
 * When keys were used, by their ids; in this order, last in a transaction: whoever revokes a key locks the programme
 * first and then the key, as the work does. Never back in time: two requests at once may come here in either order.
 */
export async function noteKeyUses(trx: Db, uses: ReadonlyMap<number, number>): Promise<void> {
	for (const [id, atMs] of [...uses].sort(([a], [b]) => a - b)) {
		await trx
			.updateTable("api_keys")
			.set({ last_used_at_ms: atMs })
			.where("id", "=", id)
			.where((eb) => eb.or([eb("last_used_at_ms", "is", null), eb("last_used_at_ms", "<", atMs)]))
			.execute();
	}
}

/** The key as it is now; undefined when the programme has no such key, or it had been revoked before. */
export async function revokeApiKey(
	db: Db,
	programmeId: number,
	publicId: string,
	nowMs: number,
): Promise<ApiKey | undefined> {
	return db
		.updateTable("api_keys")
		.set({ revoked_at_ms: nowMs })
		.where("public_id", "=", publicId)
		.where("programme_id", "=", programmeId)
		.where("revoked_at_ms", "is", null)
		.returningAll()
		.executeTakeFirst();
}

/** All that can be used, and behind them the newest that were revoked: a key in use is never out of sight. */
export async function listApiKeys(db: Db, programmeId: number, maxRevoked: number): Promise<ApiKey[]> {
	const ofProgramme = db
		.selectFrom("api_keys")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.orderBy("id", "desc");
	const usable = await ofProgramme.where("revoked_at_ms", "is", null).execute();
	const revoked = await ofProgramme.where("revoked_at_ms", "is not", null).limit(maxRevoked).execute();
	return [...usable, ...revoked];
}

export async function countUsableKeys(db: Db, programmeId: number): Promise<number> {
	return (await listApiKeys(db, programmeId, 0)).length;
}

/** Revoked ones too. */
export async function countKeys(db: Db, programmeId: number): Promise<number> {
	const { count } = await db
		.selectFrom("api_keys")
		.select((eb) => eb.fn.countAll<number>().as("count"))
		.where("programme_id", "=", programmeId)
		.executeTakeFirstOrThrow();
	return Number(count);
}
