// Passwords, sessions and authenticators.

import type { Dialect } from "../dialect.ts";

export function signInTables({ timestamp, boolean }: Dialect): readonly string[] {
	return [
		// One row is a person who has a password. Its id is the person's public id, so that a session names the person.
		`create table auth_users (
			"id" text primary key,
			"name" text not null,
			"email" text not null unique,
			"emailVerified" ${boolean} not null,
			"image" text,
			"createdAt" ${timestamp} not null,
			"updatedAt" ${timestamp} not null,
			"twoFactorEnabled" ${boolean}
		)`,

		// One row is a browser in which a person is signed in.
		`create table auth_sessions (
			"id" text primary key,
			"expiresAt" ${timestamp} not null,
			"token" text not null unique,
			"createdAt" ${timestamp} not null,
			"updatedAt" ${timestamp} not null,
			"ipAddress" text,
			"userAgent" text,
			"userId" text not null references auth_users ("id") on delete cascade
		)`,
		// Serves the list of a person's sessions, and their end.
		'create index auth_sessions_by_user on auth_sessions ("userId")',

		// One row is a password.
		`create table auth_accounts (
			"id" text primary key,
			"accountId" text not null,
			"providerId" text not null,
			"userId" text not null references auth_users ("id") on delete cascade,
			"accessToken" text,
			"refreshToken" text,
			"idToken" text,
			"accessTokenExpiresAt" ${timestamp},
			"refreshTokenExpiresAt" ${timestamp},
			"scope" text,
			"password" text,
			"createdAt" ${timestamp} not null,
			"updatedAt" ${timestamp} not null
		)`,
		// Serves the look-up of a person's password. Unique, so that a person who accepts two invitations at once has one.
		'create unique index auth_accounts_by_user on auth_accounts ("userId", "providerId")',

		// One row is a sign-in that waits for an authenticator code.
		`create table auth_verifications (
			"id" text primary key,
			"identifier" text not null,
			"value" text not null,
			"expiresAt" ${timestamp} not null,
			"createdAt" ${timestamp} not null,
			"updatedAt" ${timestamp} not null
		)`,
		// Serves the look-up by the hash of a cookie.
		'create index auth_verifications_by_identifier on auth_verifications ("identifier")',
		// Serves the end of a person's access.
		'create index auth_verifications_by_value on auth_verifications ("value")',

		// One row is an authenticator that a person has set up.
		`create table auth_two_factors (
			"id" text primary key,
			"secret" text not null,
			"backupCodes" text not null,
			"userId" text not null references auth_users ("id") on delete cascade,
			"verified" ${boolean},
			"failedVerificationCount" integer,
			"lockedUntil" ${timestamp}
		)`,
		// Serves the look-up of a person's authenticator.
		'create index auth_two_factors_by_user on auth_two_factors ("userId")',
	];
}
