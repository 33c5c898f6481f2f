// Signing in: the tables that better-auth kept in 1.0.0, with its camel case, as far as we use them; used codes, and limits.

import type { ColumnType } from "kysely";

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
