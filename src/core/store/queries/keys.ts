// API keys of a programme, stored as hashes.

import type { Insertable, Selectable } from "kysely";
import type { PersonKind } from "../../domain/roles.ts";
import type { Db } from "../store.ts";
import type { ApiKeysTable } from "../tables/programmes.ts";

export type ApiKey = Selectable<ApiKeysTable>;

export interface ListedKey extends ApiKey {
	/** Email address of the person who issued the key, or null if the key was issued on the command line. */
	issuerEmail: string | null;
	issuerKind: PersonKind | null;
}

export async function insertApiKey(db: Db, key: Insertable<ApiKeysTable>): Promise<void> {
	await db.insertInto("api_keys").values(key).execute();
}

/** Returns whether the key is neither revoked nor of an archived programme. */
export async function mayKeyListen(db: Db, id: number): Promise<boolean> {
	const query = db
		.selectFrom("api_keys")
		.innerJoin("programmes", "programmes.id", "api_keys.programme_id")
		.select("api_keys.id")
		.where("api_keys.id", "=", id)
		.where("api_keys.revoked_at_ms", "is", null)
		.where("programmes.archived_at_ms", "is", null);
	return (await query.executeTakeFirst()) !== undefined;
}

/** Revokes a key. Returns the key, or undefined if the programme has no such key or the key was already revoked. */
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

/**
 * Limits a key to reporting. This needs no locked row, because the result does not depend on the key's present right.
 */
export async function lowerApiKey(trx: Db, id: number): Promise<void> {
	await trx.updateTable("api_keys").set({ key_right: "report" }).where("id", "=", id).execute();
}

/** Lists all usable keys, followed by the newest revoked keys up to a limit, so that no key in use is left out. */
export async function listApiKeys(db: Db, programmeId: number, maxRevoked: number): Promise<ListedKey[]> {
	const ofProgramme = db
		.selectFrom("api_keys")
		.leftJoin("people", "people.id", "api_keys.issued_by")
		.selectAll("api_keys")
		.select(["people.email as issuerEmail", "people.kind as issuerKind"])
		.where("programme_id", "=", programmeId)
		.orderBy("api_keys.id", "desc");
	const usable = await ofProgramme.where("revoked_at_ms", "is", null).execute();
	const revoked = await ofProgramme.where("revoked_at_ms", "is not", null).limit(maxRevoked).execute();
	return [...usable, ...revoked];
}

export type IssuedApiKey = Awaited<ReturnType<typeof listKeysIssuedBy>>[number];

/**
 * Lists usable keys that a person issued, in one programme, or in all programmes if `programmeId` is null. They are
 * sorted by id, which is also the order in which they are locked.
 */
export async function listKeysIssuedBy(db: Db, personId: number, programmeId: number | null) {
	return db
		.selectFrom("api_keys")
		.innerJoin("programmes", "programmes.id", "api_keys.programme_id")
		.selectAll("api_keys")
		.select("programmes.name as programmeName")
		.where("issued_by", "=", personId)
		.where("revoked_at_ms", "is", null)
		.$if(programmeId !== null, (keys) => keys.where("programme_id", "=", programmeId ?? 0))
		.orderBy("api_keys.id")
		.execute();
}

export async function countUsableKeys(db: Db, programmeId: number): Promise<number> {
	return (await listApiKeys(db, programmeId, 0)).length;
}

export async function countKeys(db: Db, programmeId: number): Promise<number> {
	const { count } = await db
		.selectFrom("api_keys")
		.select((eb) => eb.fn.countAll<number>().as("count"))
		.where("programme_id", "=", programmeId)
		.executeTakeFirstOrThrow();
	return Number(count);
}
