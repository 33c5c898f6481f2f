// People: those of shops, and the network's staff.

import type { Generated } from "kysely";
import type { PersonKind } from "../../domain/roles.ts";
import type { Dialect } from "./dialect.ts";

export interface PeopleTable {
	id: Generated<number>;
	public_id: string;
	/** Lower case; unique. */
	email: string;
	kind: PersonKind;
	created_at_ms: number;
	/** Empty until they have accepted their invitation. */
	name: Generated<string>;
	/** Set when they may no longer sign in. */
	deactivated_at_ms: number | null;
}

export function peopleTables({ selfNumberedId }: Dialect): readonly string[] {
	return [
		`create table people (
			id ${selfNumberedId}, public_id text not null unique, email text not null unique,
			kind text not null, created_at_ms bigint not null, name text not null default '',
			deactivated_at_ms bigint)`,
		"create index people_by_kind on people (kind, id)",
	];
}
