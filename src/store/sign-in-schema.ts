// The tables of signing in, as Kysely sees them: better-auth's, as far as we touch them, invitations, and the
// audit log. The rest of the schema is in schema.ts.

import type { ColumnType, Generated } from "kysely";

/** A moment that better-auth wrote: ISO text on SQLite, a date on PostgreSQL. Both databases take the text. */
export type AuthTime = ColumnType<string | Date, string, string>;

/** What we write of better-auth's tables; the rest is its own business. The id is the person's public id. */
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
	/** scrypt, as better-auth hashes it. */
	password: string;
	createdAt: AuthTime;
	updatedAt: AuthTime;
}

export interface AuthSessionsTable {
	id: string;
	userId: string;
	token: string;
	expiresAt: AuthTime;
	ipAddress: string | null;
}

/** Tokens of reset links and of the second step of signing in, hashed. */
export interface AuthVerificationsTable {
	id: string;
	/** Whose it is, for both. */
	value: string;
	expiresAt: AuthTime;
}

/** A link that lets a person set their password. It goes when it is used, or when another takes its place. */
export interface InvitationsTable {
	id: Generated<number>;
	/** SHA-256 of the token; the token itself is only ever in the link. */
	token_hash: string;
	/** Null: the link of the first start, for whoever becomes the first of the staff. */
	person_id: number | null;
	made_by: number | null;
	created_at_ms: number;
	expires_at_ms: number;
}

/** An owner asked somebody to look after a programme with them: whoever has the mailbox accepts it there. */
export interface OwnerInvitationsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	email: string;
	/** SHA-256 of the token, as for all links. */
	token_hash: string;
	made_by: number;
	created_at_ms: number;
	expires_at_ms: number;
}

/** How often something was done within its window: see accounts/limits. */
export interface LimitCountsTable {
	/** The limit's name, and a hash of what it counts for. */
	subject: string;
	uses: number;
	ends_at_ms: number;
}

/** Authenticator codes that have been used: each is good for 90 seconds, and for one sign-in. */
export interface SpentCodesTable {
	person_id: number;
	code_hash: string;
	expires_at_ms: number;
}

/** Who did what: never changed. */
export interface AuditEntriesTable {
	id: Generated<number>;
	at_ms: number;
	/** Null: the command line, or the service itself. */
	person_id: number | null;
	programme_id: number | null;
	action: string;
	/** The public id or e-mail of what it was done to. */
	subject: string | null;
	detail: string | null;
}
