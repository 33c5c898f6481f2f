// Identifies and verifies the senders of requests. The API key names the programme, the signature over the
// raw bytes proves that the sender has the secret, and the timestamp must be fresh (contract section 5,
// inbound). Whether the nonce is new is checked when the request's effects are stored. Pixel calls name a
// programme by its public id.
//
// Keys, secrets and programmes are cached for a second. A change takes effect at once in the process that
// made it, and after at most a second in the others. Cached rows are frozen, because several requests share
// them.

import { createBatcher } from "../../concurrency/batching.ts";
import { createKeyedCache } from "../../concurrency/cached-value.ts";
import { type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import { openSecret } from "../domain/sealing.ts";
import {
	canonicalString,
	type HeaderNames,
	judgeTimestamp,
	type SigningKey,
	sha256Hex,
	signatureMatches,
	signingKey,
	TIMESTAMP_TOLERANCE_SECONDS,
} from "../domain/signature.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { NewNonce } from "../store/batch.ts";
import type { KnownWire } from "../store/network-cache.ts";
import { findKeyHolders, findProgrammesToCall } from "../store/queries/callers.ts";
import type { ApiKey } from "../store/queries/keys.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { type SigningSecret, stateOf } from "../store/queries/signing-secrets.ts";

/**
 * Minimum time between two writes of a key's last use. People look at the last use to decide whether a key
 * can be revoked.
 */
export const KEY_USE_NOTED_EVERY_MS = 5 * MINUTE_MS;
/** Time for which keys and programmes are cached. Postback URLs are cached for the same time (callbacks/targets.ts). */
const FRESH_MS = SECOND_MS;
/** Maximum number of cached keys, and of cached programmes. Each entry takes about a kilobyte. */
const MAX_CACHED = 10_000;
const MAX_LOADED_AT_ONCE = 256;

export interface SignedRequest {
	method: string;
	/** Path and query exactly as they were received. */
	target: string;
	header(name: string): string | undefined;
	rawBody: Uint8Array;
}

export interface KnownKey {
	apiKey: ApiKey;
	programme: Programme;
	/**
	 * Secrets that were valid when they were read. A replaced secret may have ended since. `key` is null if the secret
	 * cannot be opened with this installation's sealing key.
	 */
	secrets: readonly { secret: SigningSecret; key: SigningKey | null }[];
}

export interface Caller {
	programme: Programme;
	keyId: number;
	/** True if the key may also approve and reject. */
	mayDecide: boolean;
	secretId: number;
	/** Time to store as the key's last use, or null if the last use was stored a few minutes ago. */
	keyUsedAtMs: number | null;
	/**
	 * Nonce of the request. It is marked as used in the transaction that does the work, so that a request that failed
	 * on our side can be repeated.
	 */
	nonce: NewNonce;
}

export interface Callers {
	/**
	 * Finds the programme and the secrets of an API key. It is called before the body of the request is read.
	 */
	findKey(authorization: string | undefined): Promise<Result<KnownKey>>;
	verify(key: KnownKey, request: SignedRequest): Promise<Result<Caller>>;
	findProgramme(publicId: string): Promise<Programme | undefined>;
}

export function createCallers(
	deps: Pick<AccountsDeps, "store" | "clock" | "keyRing">,
	wire: KnownWire,
): Callers {
	const { store, clock } = deps;
	const keys = createCache(deps, (hashes) => readKeys(deps, hashes));
	const programmes = createCache(deps, async (publicIds) => {
		const found = await findProgrammesToCall(store, publicIds);
		return new Map(found.map((programme) => [programme.public_id, Object.freeze(programme)]));
	});
	return {
		async findKey(authorization) {
			const key = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
			if (key === undefined) return refusalOf("missing_api_key", {});
			const found = await keys(sha256Hex(key));
			if (found === undefined) return refusalOf("unknown_api_key", {});
			return found.apiKey.revoked_at_ms === null ? succeed(found) : refusalOf("revoked_api_key", {});
		},
		async verify({ apiKey, programme, secrets }, request) {
			// The brand, and with it the header names, is fixed when a shop gets its first signing secret. A shop that has
			// a key also has a secret, so the names that are read here are final. Only the header names of the sample
			// programme may still change.
			const { headers } = wire.names ?? (await wire.read());
			if (!clock.isSure()) return UNSURE_OF_TIME;
			const nowMs = clock.nowMs();
			const signed = parseSignatureHeaders(request, headers, nowMs);
			if (!signed.ok) return signed;
			const usable = secrets.filter(({ secret }) => stateOf(secret, nowMs) !== "ended");
			const verified = verifySignature(usable, request, signed.value, headers);
			if (!verified.ok) return verified;
			const { timestamp, nonce } = signed.value;
			const isNoted = (apiKey.last_used_at_ms ?? 0) > nowMs - KEY_USE_NOTED_EVERY_MS;
			return succeed({
				programme,
				keyId: apiKey.id,
				mayDecide: apiKey.key_right === "decide",
				secretId: verified.value,
				keyUsedAtMs: isNoted ? null : nowMs,
				nonce: {
					programme_id: programme.id,
					nonce,
					// The nonce is stored until its timestamp is no longer fresh, plus one second for rounding.
					expires_at_ms: (Number(timestamp) + TIMESTAMP_TOLERANCE_SECONDS + 1) * 1000,
				},
			});
		},
		findProgramme: (publicId) => programmes(publicId),
	};
}

/**
 * Refusal while the clock is uncertain. Timestamps cannot be judged then, and a nonce that is stored with a
 * wrong expiry could be accepted again.
 */
const UNSURE_OF_TIME = refuse(
	"unavailable",
	"Our clock is being checked, so we cannot tell whether this request is fresh. Nothing was recorded. Send it again later, signed anew.",
);

interface SignatureHeaders {
	timestamp: string;
	nonce: string;
	signature: string;
}

function parseSignatureHeaders(
	request: SignedRequest,
	headers: HeaderNames,
	nowMs: number,
): Result<SignatureHeaders> {
	const timestamp = request.header(headers.timestamp);
	const nonce = request.header(headers.nonce);
	const signature = request.header(headers.signature);
	if (timestamp === undefined) return refusalOf("missing_signature_header", { header: headers.timestamp });
	if (nonce === undefined) return refusalOf("missing_signature_header", { header: headers.nonce });
	if (signature === undefined) return refusalOf("missing_signature_header", { header: headers.signature });
	switch (judgeTimestamp(timestamp, nowMs)) {
		case "malformed":
			return refusalOf("malformed_timestamp", { header: headers.timestamp });
		case "stale":
			return refusalOf("stale_timestamp", {
				header: headers.timestamp,
				tolerance: TIMESTAMP_TOLERANCE_SECONDS,
				now: Math.floor(nowMs / 1000),
			});
		case "fresh":
			break;
	}
	// The contract's nonces are hexadecimal, but some shops use UUIDs or base64url.
	if (/^[0-9A-Za-z_-]{8,128}$/.test(nonce)) return succeed({ timestamp, nonce, signature });
	return refusalOf("malformed_nonce", { header: headers.nonce });
}

function verifySignature(
	secrets: KnownKey["secrets"],
	{ method, target, rawBody }: SignedRequest,
	{ timestamp, nonce, signature }: SignatureHeaders,
	headers: HeaderNames,
): Result<number> {
	if (secrets.length === 0) return refusalOf("no_signing_secret", {});
	const digest = sha256Hex(rawBody);
	const canonical = canonicalString(method, target, timestamp, nonce, digest);
	for (const { secret, key } of secrets) {
		if (key === null) throw new Error("a signing secret does not open with this RINGBACK_SECRET_KEY");
		if (signatureMatches(key, canonical, signature)) return succeed(secret.id);
	}
	return refusalOf("bad_signature", { header: headers.signature, method, target, digest });
}

/**
 * Creates a cache of the rows that `loadMany` finds. Rows that are requested at the same time are loaded with
 * one statement.
 */
function createCache<Value>(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	loadMany: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (key: string) => Promise<Value | undefined> {
	const batcher = createBatcher<string, Value | undefined>(
		clock,
		async (keys, answer) => {
			const found = await loadMany(keys);
			for (const [index, key] of keys.entries()) answer(index, found.get(key));
		},
		{ maxSize: MAX_LOADED_AT_ONCE },
	);
	const cache = createKeyedCache({
		clock,
		freshForMs: FRESH_MS,
		maxEntries: MAX_CACHED,
		load: (key: string) => batcher.add(key),
	});
	store.onChange(cache.invalidate);
	return cache.get;
}

async function readKeys(
	{ store, clock, keyRing }: Pick<AccountsDeps, "store" | "clock" | "keyRing">,
	hashes: readonly string[],
): Promise<Map<string, KnownKey>> {
	const found = await findKeyHolders(store, hashes, clock.nowMs());
	const holders = Map.groupBy(found, ({ apiKey }) => apiKey.hash);
	return new Map(
		[...holders].flatMap(([hash, rows]) => {
			const [first] = rows;
			if (first === undefined) return [];
			const apiKey = Object.freeze(first.apiKey);
			const programme = Object.freeze(first.programme);
			const secrets = rows.flatMap(({ secret }) => {
				if (secret === null) return [];
				// The secret is opened once and then cached, because opening it for every request would cost more than
				// verifying the signature.
				const opened = openSecret(keyRing, secret.receiver_id, secret.sealed);
				return { secret, key: opened === null ? null : signingKey(opened) };
			});
			return [[hash, { apiKey, programme, secrets }]];
		}),
	);
}
