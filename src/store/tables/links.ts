// One-time links: whatever lets somebody in, or lets them choose a password, without the one they have.

import type { Generated } from "kysely";
import type { ProgrammeRole } from "../../domain/roles.ts";

/**
 * What a link is for. A link that staff or the command line made for a new password and one that somebody asked for
 * by mail are two purposes, because anybody who knows an address can ask: that must not end the one in hand.
 */
export const LINK_PURPOSES = [
	"first_staff",
	"staff_invitation",
	"programme_invitation",
	"password_link",
	"password_mail",
	"address_mail",
] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

/** With whose access a link ended: of whoever made it, or of whom it is for. */
export type Withdrawal = "with_maker" | "with_recipient";

/** It goes when it is used, or when another of the same purpose for the same person or address takes its place. */
export interface LinksTable {
	id: Generated<number>;
	public_id: string;
	purpose: LinkPurpose;
	/** SHA-256 of the token; the token itself is only ever in the link. */
	token_hash: string;
	/** For whom. Null for the first start, and for an owner's invitation, which is for an address. */
	person_id: number | null;
	/**
	 * The address of an owner's invitation (whether anybody has it is not the inviting owner's business), or the one that a
	 * person wants to have.
	 */
	email: string | null;
	programme_id: number | null;
	/** What whoever accepts an owner's invitation becomes; null for every other link. */
	role: ProgrammeRole | null;
	/** Null: the command line, the first start, or the person themselves by mail. */
	made_by: number | null;
	created_at_ms: number;
	expires_at_ms: number;
	/** Null while it works. Invitations that were withdrawn stay on the list, so that they can be sent again. */
	withdrawn: Withdrawal | null;
}

/** One row: whoever makes or uses a link, or ends somebody's access, holds it until the transaction ends. */
export interface LinkLockTable {
	id: number;
}
