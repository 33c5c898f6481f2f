// People, and the links that let them in.

import type { Generated } from "kysely";
import type { Dialect } from "./dialect.ts";

export type Role = "owner" | "staff";

export interface PeopleTable {
	id: Generated<number>;
	public_id: string;
	/** Lower case; unique. */
	email: string;
	role: Role;
	created_at_ms: number;
	/** Empty until they have accepted their invitation. */
	name: Generated<string>;
	/** Set when they may no longer sign in. */
	deactivated_at_ms: number | null;
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

export function peopleTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table people (
			id ${selfNumberedId}, public_id text not null unique, email text not null unique,
			role text not null, created_at_ms bigint not null, name text not null default '',
			deactivated_at_ms bigint)`,
		"create index people_by_role on people (role, id)",
		`create table invitations (
			id ${selfNumberedId}, token_hash text not null unique, person_id bigint, made_by bigint,
			created_at_ms bigint not null, expires_at_ms bigint not null)`,
		"create index invitations_by_person on invitations (person_id)",
		// Named by the address alone: whether anybody has it is not the inviting owner's business.
		`create table owner_invitations (
			id ${selfNumberedId}, public_id text not null unique, programme_id bigint not null, email text not null,
			token_hash text not null unique, made_by bigint not null, created_at_ms bigint not null,
			expires_at_ms bigint not null)`,
		"create unique index owner_invitations_by_email on owner_invitations (programme_id, email)",
	];
}
