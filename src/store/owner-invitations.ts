// Invitations that owners made to their programmes: one an address and programme, until it is accepted.

import type { Insertable, Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { OwnerInvitationsTable } from "./tables/people.ts";

export type OwnerInvitation = Selectable<OwnerInvitationsTable>;

/** As with people: one page holds them all. */
const MAX_INVITATIONS_LISTED = 500;

/** In place of the one this address has already, whose link stops working. */
export async function replaceOwnerInvitation(
	trx: Db,
	invitation: Insertable<OwnerInvitationsTable>,
): Promise<OwnerInvitation> {
	await removeOwnerInvitations(trx, invitation.programme_id, invitation.email);
	return trx.insertInto("owner_invitations").values(invitation).returningAll().executeTakeFirstOrThrow();
}

export async function removeOwnerInvitations(trx: Db, programmeId: number, email: string): Promise<boolean> {
	const { numDeletedRows } = await trx
		.deleteFrom("owner_invitations")
		.where("programme_id", "=", programmeId)
		.where("email", "=", email)
		.executeTakeFirst();
	return numDeletedRows > 0n;
}

/** Those whose link has ended too, so that it can be sent again. The oldest first. */
export async function listOwnerInvitations(db: Db, programmeId: number): Promise<OwnerInvitation[]> {
	return db
		.selectFrom("owner_invitations")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.orderBy("id")
		.limit(MAX_INVITATIONS_LISTED)
		.execute();
}

export async function findOwnerInvitation(
	db: Db,
	programmeId: number,
	publicId: string,
): Promise<OwnerInvitation | undefined> {
	return db
		.selectFrom("owner_invitations")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("public_id", "=", publicId)
		.executeTakeFirst();
}

export async function findOwnerInvitationByToken(
	db: Db,
	tokenHash: string,
	nowMs: number,
): Promise<OwnerInvitation | undefined> {
	return db
		.selectFrom("owner_invitations")
		.selectAll()
		.where("token_hash", "=", tokenHash)
		.where("expires_at_ms", ">", nowMs)
		.executeTakeFirst();
}

/** Undefined when it has ended, was replaced or is used, also by somebody at this very moment. */
export async function takeOwnerInvitation(
	trx: Db,
	tokenHash: string,
	nowMs: number,
): Promise<OwnerInvitation | undefined> {
	return trx
		.deleteFrom("owner_invitations")
		.where("token_hash", "=", tokenHash)
		.where("expires_at_ms", ">", nowMs)
		.returningAll()
		.executeTakeFirst();
}
