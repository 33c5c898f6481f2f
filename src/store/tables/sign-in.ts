// Signing in: better-auth's tables as far as we touch them, with its camel case (test/contract/store-auth-tables
// holds them to what it asks for), used codes, and limits.

import type { ColumnType } from "kysely";
import type { Dialect } from "./dialect.ts";

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
	/** When they signed in, also where better-auth has since put a new session in its place. */
	createdAt: AuthTime;
	expiresAt: AuthTime;
	updatedAt: AuthTime;
	ipAddress: string | null;
	userAgent: string | null;
}

/** Sign-ins that wait for an authenticator's code, by a hash of what their cookie holds. */
export interface AuthVerificationsTable {
	id: string;
	/** Whose it is. */
	value: string;
	createdAt: AuthTime;
	expiresAt: AuthTime;
}

/** An authenticator that is set up; whether it is on stands with the user. */
export interface AuthTwoFactorsTable {
	id: string;
	userId: string;
	verified: ColumnType<number | boolean | null, 0 | 1, 0 | 1>;
}

/** Authenticator codes that have been used: each is good for 90 seconds, and for one sign-in. */
export interface SpentCodesTable {
	person_id: number;
	code_hash: string;
	expires_at_ms: number;
}

/** How often something was done within its window: see accounts/limits. */
export interface LimitCountsTable {
	/** The limit's name, and a hash of what it counts for. */
	subject: string;
	uses: number;
	ends_at_ms: number;
}

export function signInTables({ timestamp, boolean, clustered }: Dialect): readonly string[] {
	return [
		// Its id is the person's public id, so that a session names the person.
		`create table auth_users (
			"id" text primary key, "name" text not null, "email" text not null unique, "emailVerified" ${boolean} not null,
			"image" text, "createdAt" ${timestamp} not null, "updatedAt" ${timestamp} not null, "twoFactorEnabled" ${boolean})`,
		`create table auth_sessions (
			"id" text primary key, "expiresAt" ${timestamp} not null, "token" text not null unique,
			"createdAt" ${timestamp} not null, "updatedAt" ${timestamp} not null, "ipAddress" text, "userAgent" text,
			"userId" text not null references auth_users ("id") on delete cascade)`,
		'create index auth_sessions_by_user on auth_sessions ("userId")',
		`create table auth_accounts (
			"id" text primary key, "accountId" text not null, "providerId" text not null,
			"userId" text not null references auth_users ("id") on delete cascade,
			"accessToken" text, "refreshToken" text, "idToken" text, "accessTokenExpiresAt" ${timestamp},
			"refreshTokenExpiresAt" ${timestamp}, "scope" text, "password" text,
			"createdAt" ${timestamp} not null, "updatedAt" ${timestamp} not null)`,
		// Unique: whoever accepts two invitations at once still has one password.
		'create unique index auth_accounts_by_user on auth_accounts ("userId", "providerId")',
		`create table auth_verifications (
			"id" text primary key, "identifier" text not null, "value" text not null, "expiresAt" ${timestamp} not null,
			"createdAt" ${timestamp} not null, "updatedAt" ${timestamp} not null)`,
		'create index auth_verifications_by_identifier on auth_verifications ("identifier")',
		'create index auth_verifications_by_value on auth_verifications ("value")',
		`create table auth_two_factors (
			"id" text primary key, "secret" text not null, "backupCodes" text not null,
			"userId" text not null references auth_users ("id") on delete cascade,
			"verified" ${boolean}, "failedVerificationCount" integer, "lockedUntil" ${timestamp})`,
		'create index auth_two_factors_by_user on auth_two_factors ("userId")',
		`create table spent_codes (
			person_id bigint not null, code_hash text not null, expires_at_ms bigint not null,
			primary key (person_id, code_hash)) ${clustered}`,
		`create table limit_counts (
			subject text primary key, uses integer not null, ends_at_ms bigint not null) ${clustered}`,
		"create index limit_counts_by_end on limit_counts (ends_at_ms)",
	];
}
