import type { Generated, Selectable } from "kysely";
import type { TokenRight } from "../../domain/api-token.ts";

export interface ApiTokensTable {
	id: Generated<number>;
	public_id: string;
	/** The partner to which the token belongs, or null for a token of the network. */
	partner_id: number | null;
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

export type ApiToken = Selectable<ApiTokensTable>;
