// Tokens for the APIs of the network and of partners, and the references of their callers.

import type { Generated, Selectable } from "kysely";
import type { TokenRight } from "../domain/api-token.ts";

declare module "#core/store/schema/tables.ts" {
	interface Schema {
		api_tokens: ApiTokensTable;
		api_references: ApiReferencesTable;
	}
}

export interface ApiTokensTable {
	id: Generated<number>;
	public_id: string;
	/** The partner to which the token belongs, or null for a token of the network. */
	partner_id: number | null;
	/** Name that people have chosen for the token. */
	name: string;
	/** SHA-256 of the token. The token itself is shown once and never stored. */
	hash: string;
	/** Last characters of the token, so that people can distinguish tokens. */
	hint: string;
	token_right: TokenRight;
	/** The person who issued the token. The token acts in their name and ends with their access. */
	issued_by: number;
	created_at_ms: number;
	/** Time from which the token is refused, or null if it has no end. */
	expires_at_ms: number | null;
	revoked_at_ms: number | null;
	/** Time of the last use, accurate to five minutes, because a write for every request would cost too much. */
	last_used_at_ms: number | null;
}

/** One row is the caller's own name for something that was created over an API. */
export interface ApiReferencesTable {
	/** Id of the partner whose token created it, or 0 for the network. */
	owner_id: number;
	/** Name of the call that created it. References of different calls are independent. */
	kind: string;
	reference: string;
	/** SHA-256 of what the caller sent. The same reference with other values is refused. */
	request_hash: string;
	/** Public id of the created resource, or the code of a link, or the email address of an invited person. */
	resource: string;
	created_at_ms: number;
}

export type ApiToken = Selectable<ApiTokensTable>;
