// Finds the holder of an API token for each call. Tokens are cached for a second, like the API keys of shops. A revoked
// token is refused at once in the process that revoked it, and after at most a second in the others.

import { isExpired, isTokenForm } from "#core/domain/api-token.ts";
import { type Result, refusalOf, succeed } from "#core/domain/fault.ts";
import { sha256Hex } from "#core/domain/signature.ts";
import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import type { TokenHolder } from "#core/people/actor.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import { type FoundToken, findApiTokensByHash, storeTokenUse } from "#core/store/queries/api-tokens.ts";
import { createBatcher } from "../../../concurrency/batching.ts";
import { createKeyedCache } from "../../../concurrency/cached-value.ts";

/** Minimum time between two writes of a token's last use, as for API keys. */
const USE_NOTED_EVERY_MS = 5 * MINUTE_MS;
const FRESH_MS = SECOND_MS;
/** Maximum number of cached tokens. Each takes about half a kilobyte. */
const MAX_CACHED = 10_000;
/** Maximum number of tokens that one statement loads. */
const MAX_LOADED_AT_ONCE = 256;

/** A valid token with its holder. */
export interface KnownToken {
	token: Readonly<FoundToken>;
	holder: TokenHolder;
}

export interface TokenHolders {
	/** Finds the token in an Authorization header. */
	find(authorization: string | undefined): Promise<Result<KnownToken>>;
	/** Stores that a token was used, if its last stored use is some minutes old. */
	storeUse(token: Readonly<FoundToken>): Promise<void>;
}

export function createTokenHolders({ store, clock }: Pick<AccountsDeps, "store" | "clock">): TokenHolders {
	const batcher = createBatcher<string, KnownToken | undefined>(
		clock,
		async (hashes, answer) => {
			const rows = await findApiTokensByHash(store.db, hashes);
			const found = new Map(rows.map((row) => [row.hash, row]));
			for (const [index, hash] of hashes.entries()) {
				const token = found.get(hash);
				answer(index, token === undefined ? undefined : knownToken(token));
			}
		},
		{ maxSize: MAX_LOADED_AT_ONCE },
	);
	const cache = createKeyedCache({
		clock,
		freshForMs: FRESH_MS,
		maxEntries: MAX_CACHED,
		load: (hash: string) => batcher.add(hash),
	});
	store.onChange(cache.invalidate);
	/** Times of the last stored uses, by token id. A cached token may have an older time. */
	const notedAtMs = new Map<number, number>();
	return {
		async find(authorization) {
			const text = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
			if (text === undefined) return refusalOf("missing_token", {});
			const foundToken = isTokenForm(text) ? await cache.get(sha256Hex(text)) : undefined;
			if (foundToken === undefined) return refusalOf("unknown_token", {});
			if (foundToken.token.revoked_at_ms !== null) return refusalOf("revoked_token", {});
			return isExpired(foundToken.token, clock.nowMs())
				? refusalOf("expired_token", {})
				: succeed(foundToken);
		},
		async storeUse({ id, last_used_at_ms: lastUsedAtMs }) {
			const nowMs = clock.nowMs();
			const lastMs = Math.max(lastUsedAtMs ?? 0, notedAtMs.get(id) ?? 0);
			if (lastMs > nowMs - USE_NOTED_EVERY_MS) return;
			if (notedAtMs.size >= MAX_CACHED) notedAtMs.clear();
			notedAtMs.set(id, nowMs);
			await storeTokenUse(store.db, id, nowMs, USE_NOTED_EVERY_MS);
		},
	};
}

function knownToken(token: FoundToken): KnownToken {
	const { issuerKind: kind, issued_by: personId, id: tokenId } = token;
	return { token: Object.freeze(token), holder: { kind, personId, tokenId } };
}
