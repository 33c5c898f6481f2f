// Tokens for the APIs of the network and of partners, stored as hashes. Like a session, a token is access of the
// person who issued it.

import type { Insertable } from "kysely";
import type { Db } from "../store.ts";
import type { ApiToken, ApiTokensTable } from "../tables/api-tokens.ts";

export type { ApiToken } from "../tables/api-tokens.ts";

export interface ListedToken extends ApiToken {
	issuerEmail: string;
}

export function insertApiToken(trx: Db, token: Insertable<ApiTokensTable>): Promise<ApiToken> {
	return trx.insertInto("api_tokens").values(token).returningAll().executeTakeFirstOrThrow();
}

/** Finds tokens by their hashes, each with the kind of its issuer and the public id of its partner. */
export async function findApiTokensByHash(db: Db, hashes: readonly string[]) {
	if (hashes.length === 0) return [];
	return db
		.selectFrom("api_tokens")
		.innerJoin("people", "people.id", "api_tokens.issued_by")
		.leftJoin("partners", "partners.id", "api_tokens.partner_id")
		.selectAll("api_tokens")
		.select(["people.kind as issuerKind", "partners.public_id as partnerPublicId"])
		.where("api_tokens.hash", "in", hashes)
		.execute();
}

export type FoundToken = Awaited<ReturnType<typeof findApiTokensByHash>>[number];

export async function isTokenUsable(db: Db, id: number): Promise<boolean> {
	const query = db.selectFrom("api_tokens").select("id").where("id", "=", id);
	return (await query.where("revoked_at_ms", "is", null).executeTakeFirst()) !== undefined;
}

/** Stores the time of a token's use, unless a use within the last `everyMs` is already stored. */
export async function storeTokenUse(db: Db, id: number, atMs: number, everyMs: number): Promise<void> {
	await db
		.updateTable("api_tokens")
		.set({ last_used_at_ms: atMs })
		.where("id", "=", id)
		.where((eb) => eb.or([eb("last_used_at_ms", "is", null), eb("last_used_at_ms", "<=", atMs - everyMs)]))
		.execute();
}

/**
 * Revokes a token of this partner, or of the network if `partnerId` is null. Returns undefined if no such token
 * exists or if it was already revoked.
 */
export function revokeApiToken(
	trx: Db,
	partnerId: number | null,
	publicId: string,
	nowMs: number,
): Promise<ApiToken | undefined> {
	return trx
		.updateTable("api_tokens")
		.set({ revoked_at_ms: nowMs })
		.where("public_id", "=", publicId)
		.where("partner_id", partnerId === null ? "is" : "=", partnerId)
		.where("revoked_at_ms", "is", null)
		.returningAll()
		.executeTakeFirst();
}

export async function revokeTokensOf(trx: Db, partnerId: number, nowMs: number): Promise<void> {
	const tokens = trx.updateTable("api_tokens").set({ revoked_at_ms: nowMs });
	await tokens.where("partner_id", "=", partnerId).where("revoked_at_ms", "is", null).execute();
}

/**
 * Lists the tokens of a partner, or of the network if `partnerId` is null. All usable tokens come first. They are
 * followed by revoked and expired tokens, the newest first, up to a limit.
 */
export async function listApiTokens(
	db: Db,
	partnerId: number | null,
	{ nowMs, maxEnded }: { nowMs: number; maxEnded: number },
): Promise<ListedToken[]> {
	const tokens = db
		.selectFrom("api_tokens")
		.innerJoin("people", "people.id", "api_tokens.issued_by")
		.selectAll("api_tokens")
		.select("people.email as issuerEmail")
		.where("api_tokens.partner_id", partnerId === null ? "is" : "=", partnerId)
		.orderBy("api_tokens.id", "desc");
	const usable = await tokens
		.where("revoked_at_ms", "is", null)
		.where((eb) => eb.or([eb("expires_at_ms", "is", null), eb("expires_at_ms", ">", nowMs)]))
		.execute();
	const ended = await tokens
		.where((eb) => eb.or([eb("revoked_at_ms", "is not", null), eb("expires_at_ms", "<=", nowMs)]))
		.limit(maxEnded)
		.execute();
	return [...usable, ...ended];
}

/** Token with the name of its partner, or null for a token of the network. */
export interface IssuedToken extends ApiToken {
	partnerName: string | null;
}

/** Lists the usable tokens that a person issued. If `partnerId` is given, only tokens for this partner are listed. */
export function listTokensIssuedBy(
	db: Db,
	personId: number,
	{ partnerId, nowMs }: { partnerId?: number | undefined; nowMs: number },
): Promise<IssuedToken[]> {
	return db
		.selectFrom("api_tokens")
		.leftJoin("partners", "partners.id", "api_tokens.partner_id")
		.selectAll("api_tokens")
		.select("partners.name as partnerName")
		.where("issued_by", "=", personId)
		.where("revoked_at_ms", "is", null)
		.where((eb) => eb.or([eb("expires_at_ms", "is", null), eb("expires_at_ms", ">", nowMs)]))
		.$if(partnerId !== undefined, (tokens) => tokens.where("partner_id", "=", partnerId ?? null))
		.orderBy("api_tokens.id")
		.execute();
}
