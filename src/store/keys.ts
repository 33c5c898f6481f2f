// API keys (hashed) and signing secrets (sealed) of a programme.

import type { Insertable, Selectable } from "kysely";
import type { ApiKeysTable, SigningSecretsTable } from "./schema.ts";
import type { Db } from "./store.ts";

export type ApiKey = Selectable<ApiKeysTable>;
export type SigningSecret = Selectable<SigningSecretsTable>;

export async function insertApiKey(db: Db, key: Insertable<ApiKeysTable>): Promise<void> {
	await db.insertInto("api_keys").values(key).execute();
}

export async function findApiKeyByHash(db: Db, hash: string): Promise<ApiKey | undefined> {
	return db.selectFrom("api_keys").selectAll().where("hash", "=", hash).executeTakeFirst();
}

/** False when the programme has no such key, or it had been revoked before. */
export async function revokeApiKey(
	db: Db,
	programmeId: number,
	publicId: string,
	nowMs: number,
): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("api_keys")
		.set({ revoked_at_ms: nowMs })
		.where("public_id", "=", publicId)
		.where("programme_id", "=", programmeId)
		.where("revoked_at_ms", "is", null)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

/** The newest first. */
export async function listApiKeys(db: Db, programmeId: number, limit: number): Promise<ApiKey[]> {
	return db
		.selectFrom("api_keys")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.orderBy("id", "desc")
		.limit(limit)
		.execute();
}

export async function insertSecret(db: Db, secret: Insertable<SigningSecretsTable>): Promise<void> {
	await db.insertInto("signing_secrets").values(secret).execute();
}

/** The present secret, and those replaced after `replacedAfterMs`; the present one first. */
export async function findUsableSecrets(
	db: Db,
	programmeId: number,
	replacedAfterMs: number,
): Promise<SigningSecret[]> {
	const rows = await db
		.selectFrom("signing_secrets")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where((eb) => eb.or([eb("replaced_at_ms", "is", null), eb("replaced_at_ms", ">", replacedAfterMs)]))
		.orderBy("id", "desc")
		.execute();
	return rows;
}

export async function hasSecret(db: Db, programmeId: number): Promise<boolean> {
	const row = await db
		.selectFrom("signing_secrets")
		.select("id")
		.where("programme_id", "=", programmeId)
		.where("replaced_at_ms", "is", null)
		.executeTakeFirst();
	return row !== undefined;
}

export async function retirePresentSecret(db: Db, programmeId: number, nowMs: number): Promise<void> {
	await db
		.updateTable("signing_secrets")
		.set({ replaced_at_ms: nowMs })
		.where("programme_id", "=", programmeId)
		.where("replaced_at_ms", "is", null)
		.execute();
}

/** Any one will do to see whether the sealing key is right. */
export async function newestSecret(db: Db): Promise<SigningSecret | undefined> {
	return db.selectFrom("signing_secrets").selectAll().orderBy("id", "desc").limit(1).executeTakeFirst();
}
