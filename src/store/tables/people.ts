// People: those of shops and partners, and the network's staff.

import type { ColumnType, Generated } from "kysely";
import type { PersonKind, ProgrammeRole } from "../../domain/roles.ts";

export interface PeopleTable {
	id: Generated<number>;
	public_id: string;
	/** In lower case, and unique. */
	email: string;
	kind: PersonKind;
	created_at_ms: number;
	/** Empty until the person has accepted an invitation. */
	name: Generated<string>;
	/** IANA name of a time zone, or null for the browser's. */
	zone: string | null;
	/** One of DATE_LOCALES in people/own-settings.ts, or null for the browser's. */
	locale: string | null;
	/** Whether the person wants these mails. */
	mails_callbacks_failing: Generated<0 | 1>;
	mails_callbacks_working_again: Generated<0 | 1>;
	/** Time at which staff took the right to sign in away, or null. */
	deactivated_at_ms: number | null;
}

// Signing in: the tables that better-auth kept in 1.0.0, with its camel case, as far as we use them; used codes and
// limits.

/** A moment: ISO text on SQLite, a date on PostgreSQL. Both databases take the text. */
export type AuthTime = ColumnType<string | Date, string, string>;

/** The id is the person's public id. */
export interface AuthUsersTable {
	id: string;
	name: string;
	email: string;
	emailVerified: ColumnType<number | boolean, 0 | 1, 0 | 1>;
	twoFactorEnabled: ColumnType<number | boolean | null, 0 | 1, 0 | 1>;
	createdAt: AuthTime;
	updatedAt: AuthTime;
}

export interface AuthAccountsTable {
	id: string;
	accountId: string;
	providerId: string;
	userId: string;
	password: string;
	createdAt: AuthTime;
	updatedAt: AuthTime;
}

export interface AuthSessionsTable {
	id: string;
	userId: string;
	token: string;
	/** When they signed in, also where it goes on under another token. */
	createdAt: AuthTime;
	expiresAt: AuthTime;
	updatedAt: AuthTime;
	ipAddress: string | null;
	userAgent: string | null;
}

/** Sign-ins that wait for an authenticator's code, by a hash of what their cookie holds. */
export interface AuthVerificationsTable {
	id: string;
	identifier: string;
	/** Whose it is. */
	value: string;
	createdAt: AuthTime;
	updatedAt: AuthTime;
	expiresAt: AuthTime;
}

/** An authenticator that is set up; whether it is on stands with the user. */
export interface AuthTwoFactorsTable {
	id: string;
	userId: string;
	/** Both sealed. */
	secret: string;
	backupCodes: string;
	verified: ColumnType<number | boolean | null, 0 | 1, 0 | 1>;
}

/** Authenticator codes that have been used: each is good for 90 seconds, and for one sign-in. */
export interface SpentCodesTable {
	person_id: number;
	code_hash: string;
	expires_at_ms: number;
}

/** How often something was done within its window: see people/limits. */
export interface LimitCountsTable {
	/** The limit's name, and a hash of what it counts for. */
	subject: string;
	uses: number;
	ends_at_ms: number;
}

// One-time links: whatever lets somebody in, or lets them choose a password, without the one they have.

/**
 * What a link is for. A link that staff or the command line made for a new password and one that somebody asked for
 * by mail are two purposes, because anybody who knows an address can ask: that must not end the one in hand.
 */
export type SignInLinkPurpose =
	| "first_staff"
	| "staff_invitation"
	| "programme_invitation"
	| "password_link"
	| "password_mail"
	| "address_mail";

/** With whose access a link ended: of whoever made it, or of whom it is for. */
export type Withdrawal = "with_maker" | "with_recipient";

/** It goes when it is used, or when another of the same purpose for the same person or address takes its place. */
export interface SignInLinksTable {
	id: Generated<number>;
	public_id: string;
	purpose: SignInLinkPurpose;
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
export interface AccessLockTable {
	id: number;
}
