// Links that let a person set their password: one at a time for each person, and one for the first start.

import type { Selectable } from "kysely";
import type { Db } from "./store.ts";
import type { InvitationsTable } from "./tables/people.ts";

export type Invitation = Selectable<InvitationsTable>;

export interface NewInvitation {
	tokenHash: string;
	/** Null: for whoever becomes the first of the staff. */
	personId: number | null;
	madeBy: number | null;
	expiresAtMs: number;
}

/** In place of any earlier one of the same person, which stops working. */
export async function replaceInvitation(trx: Db, invitation: NewInvitation, nowMs: number): Promise<void> {
	await removeInvitations(trx, invitation.personId);
	await trx
		.insertInto("invitations")
		.values({
			token_hash: invitation.tokenHash,
			person_id: invitation.personId,
			made_by: invitation.madeBy,
			created_at_ms: nowMs,
			expires_at_ms: invitation.expiresAtMs,
		})
		.execute();
}

export async function findInvitation(
	db: Db,
	tokenHash: string,
	nowMs: number,
): Promise<Invitation | undefined> {
	return db
		.selectFrom("invitations")
		.selectAll()
		.where("token_hash", "=", tokenHash)
		.where("expires_at_ms", ">", nowMs)
		.executeTakeFirst();
}

/** Undefined when it has expired, was replaced or is used, also by somebody at this very moment. */
export async function takeInvitation(
	trx: Db,
	tokenHash: string,
	nowMs: number,
): Promise<Invitation | undefined> {
	return trx
		.deleteFrom("invitations")
		.where("token_hash", "=", tokenHash)
		.where("expires_at_ms", ">", nowMs)
		.returningAll()
		.executeTakeFirst();
}

export async function removeInvitations(trx: Db, personId: number | null): Promise<void> {
	await trx
		.deleteFrom("invitations")
		.where("person_id", personId === null ? "is" : "=", personId)
		.execute();
}
