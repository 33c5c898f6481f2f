// Issues and revokes API tokens. A token belongs to the network or to a partner, is shown once, and acts in the name of
// the person who issued it. It ends with that person's access, and with a new password unless they keep it
// (core/people/end-access.ts).

import { NETWORK_TOKEN_RIGHTS, TOKEN_BYTES, type TokenRight, tokenPrefix } from "#core/domain/api-token.ts";
import { readName } from "#core/domain/display-name.ts";
import { judgeErasedPartner } from "#core/domain/erasure.ts";
import { checkAll, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { sha256Hex } from "#core/domain/signature.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { forPartner, type Permission, type SignedInPerson, STAFF, transactAs } from "#core/people/actor.ts";
import type { SignInDeps, Visitor } from "#core/people/auth.ts";
import { type AuthenticatorOwner, type Proof, withPasswordAndCode } from "#core/people/authenticator.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import { noteToken } from "#core/people/token-entries.ts";
import {
	type ApiToken,
	insertApiToken,
	listApiTokens,
	revokeApiToken,
} from "#core/store/queries/api-tokens.ts";
import { findPartnerById } from "#core/store/queries/partners.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";

const HINT_LENGTH = 4;
/** Maximum number of usable tokens of the network or of a partner. The page lists all of them. */
const MAX_USABLE_TOKENS = 50;
/** Maximum lifetime of a token that expires. */
const MAX_TOKEN_DAYS = 3_650;

export interface TokenInput {
	name: string;
	/** Right of a network token. It is ignored for a token of a partner, which has only one right. */
	right: string;
	/** Number of days after which the token expires, or empty if it does not expire. */
	days: string;
}

export interface IssuedToken {
	row: ApiToken;
	/** The token itself, which is shown only now. */
	token: string;
}

/** The partner to which a token belongs, or null for the network. */
export type TokenOwner = Pick<Partner, "id" | "public_id"> | null;

/**
 * Issues a token. Only a person on a page may do this, so no token can issue another one. They enter their password and
 * code again, because a token goes on when a stolen session has ended.
 */
export async function issueToken(
	deps: SignInDeps,
	actor: AuthenticatorOwner,
	owner: TokenOwner,
	input: TokenInput,
	proof: Proof,
	visitor: Visitor,
): Promise<Result<IssuedToken>> {
	const read = checkAll({
		name: readName(input.name, "the token's"),
		right: readRight(owner, input.right),
		days: readDays(input.days.trim()),
	});
	if (!read.ok) return read;
	const { name, right, days } = read.value;
	const nowMs = deps.clock.nowMs();
	const issue = async (trx: Db): Promise<Result<IssuedToken>> => {
		const partner = owner === null ? undefined : await findPartnerById(trx, owner.id);
		const judged = partner === undefined ? succeed(true) : judgeErasedPartner(partner);
		if (!judged.ok) return judged;
		const usable = await listApiTokens(trx, owner?.id ?? null, { nowMs, maxEnded: 0 });
		if (usable.length >= MAX_USABLE_TOKENS) {
			const text = `There are ${MAX_USABLE_TOKENS} tokens in use, which is the maximum. Revoke one that is not needed any more, then issue the new one.`;
			return refuse("too_many_tokens", text);
		}
		const token = `${tokenPrefix(right)}_${deps.random.hex(TOKEN_BYTES)}`;
		const row = await insertApiToken(trx, {
			public_id: makeId("tok", nowMs, deps.random.bytes(ID_RANDOM_BYTES)),
			partner_id: owner?.id ?? null,
			name,
			hash: sha256Hex(token),
			hint: token.slice(-HINT_LENGTH),
			token_right: right,
			issued_by: actor.personId,
			created_at_ms: nowMs,
			expires_at_ms: days === null ? null : nowMs + days * DAY_MS,
		});
		await noteToken(trx, actor.personId, owner, row, "issued", nowMs);
		return succeed({ row, token });
	};
	return withPasswordAndCode(deps, actor, proof, visitor, (proven) =>
		transactAs(deps.store, proven, tokensPermission(owner), issue),
	);
}

export async function revokeToken(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: SignedInPerson,
	owner: TokenOwner,
	tokenId: string,
): Promise<Result<ApiToken>> {
	const revoked = await transactAs<ApiToken>(store, actor, tokensPermission(owner), async (trx) => {
		const nowMs = clock.nowMs();
		const row = await revokeApiToken(trx, owner?.id ?? null, tokenId, nowMs);
		if (row === undefined) {
			const text = `There is no usable token ${tokenId}. It may have been revoked already. Look at the list again.`;
			return refuse("unknown_api_token", text);
		}
		await noteToken(trx, actor.personId, owner, row, "revoked", nowMs);
		return succeed(row);
	});
	// This process must stop accepting the token at once.
	if (revoked.ok) store.announceChange(null);
	return revoked;
}

function tokensPermission(owner: TokenOwner): Permission {
	return owner === null ? STAFF : forPartner(owner.id);
}

function readRight(owner: TokenOwner, text: string): Result<TokenRight> {
	if (owner !== null) return succeed("partner");
	const right = NETWORK_TOKEN_RIGHTS.find((each) => each === text);
	if (right !== undefined) return succeed(right);
	return refuse("invalid_field", "Choose whether the token reads only, or also changes.", "right");
}

function readDays(text: string): Result<number | null> {
	if (text === "") return succeed(null);
	const days = /^\d{1,4}$/.test(text) ? Number(text) : 0;
	if (days >= 1 && days <= MAX_TOKEN_DAYS) return succeed(days);
	return refuse("invalid_field", `Choose from 1 to ${MAX_TOKEN_DAYS} days, or no end.`, "days");
}
