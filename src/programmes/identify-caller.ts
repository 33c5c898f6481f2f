// Who is calling the signed API, and is it really them: the API key names the programme, the signature over
// the raw bytes proves the secret, the timestamp is fresh and the nonce is new (contract section 5, inbound).

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
import { MINUTE_MS } from "../domain/time.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { HotWrites } from "../store/hot-writes.ts";
import { type ApiKey, noteKeyUse } from "../store/queries/keys.ts";
import type { KnownWire } from "../store/queries/known-wire.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { type SigningSecret, stateOf } from "../store/queries/signing-secrets.ts";
import type { Db } from "../store/store.ts";
import type { KnownCallers, KnownKey } from "./known-callers.ts";

/** "Last used" is for people who wonder whether a key can go: a write for each key now and then costs next to nothing. */
const KEY_USE_NOTED_EVERY_MS = 5 * MINUTE_MS;

export interface SignedRequest {
	method: string;
	/** Path and query exactly as they came in. */
	target: string;
	header(name: string): string | undefined;
	rawBody: Uint8Array;
}

export interface Caller {
	programme: Programme;
	/** The row of the API key. */
	keyId: number;
	/** The row of the secret that it was signed with. */
	secretId: number;
	/** To be noted as its last use; null when one was noted a few minutes ago. */
	keyUsedAtMs: number | null;
	nonce: string;
	nonceExpiresAtMs: number;
}

/** `programme` comes along with a refusal once the key has named it, for the inbound log. */
export type IdentifyCaller = (
	request: SignedRequest,
) => Promise<{ result: Result<Caller>; programme: Programme | undefined }>;

export function createIdentifyCaller(
	{ clock, sealingKey }: Pick<AccountsDeps, "clock" | "sealingKey">,
	callers: Pick<KnownCallers, "findKey">,
	wire: KnownWire,
): IdentifyCaller {
	const opened = new OpenedSecrets(sealingKey);
	return async (request) => {
		const named = await findKey(callers, request.header("authorization"));
		if (!named.ok) return { result: named, programme: undefined };
		// Behind the key: with it there is a secret, and the names stay as they are read now.
		const { headers } = wire.names ?? (await wire.read());
		const { apiKey, programme, secrets } = named.value;
		if (!clock.isSure()) return { result: UNSURE_OF_TIME, programme };
		const nowMs = clock.nowMs();
		const trio = parseTrio(request, headers, nowMs);
		if (!trio.ok) return { result: trio, programme };
		const usable = secrets.filter((secret) => stateOf(secret, nowMs) !== "ended");
		const keys = usable.map((secret) => ({ id: secret.id, key: opened.keyOf(secret) }));
		const verified = verifySignature(keys, request, trio.value, headers);
		if (!verified.ok) return { result: verified, programme };
		const keyUsedAtMs = isUseNoted(apiKey, nowMs) ? null : nowMs;
		const known = { programme, keyId: apiKey.id, secretId: verified.value, keyUsedAtMs };
		return { result: succeed({ ...known, ...spendable(trio.value) }), programme };
	};
}

/** No judgement of a timestamp would be right, and a nonce that is spent by a wrong clock could be used again later. */
const UNSURE_OF_TIME = refuse(
	"unavailable",
	"Our clock is being checked, so we cannot tell whether this request is fresh. Nothing was recorded. Send it again later, signed anew.",
);

/**
 * In the transaction that does the work: a request that failed on our side has not spent its nonce. Resolves to those
 * that are refused, because their nonce was used before.
 */
export async function acceptNonces(
	trx: Db,
	writes: HotWrites,
	callers: readonly Caller[],
): Promise<Map<Caller, ReturnType<typeof refuse>>> {
	const nonces = callers.map(({ programme, nonce, nonceExpiresAtMs }) => ({
		programme_id: programme.id,
		nonce,
		expires_at_ms: nonceExpiresAtMs,
	}));
	const spent = await writes.spendNonces(trx, nonces);
	const refusal = refusalOf("replayed_nonce", {});
	const refused = callers.filter((_, index) => !nonces[index] || !spent.has(nonces[index]));
	return new Map(refused.map((caller) => [caller, refusal]));
}

/**
 * Last in the transaction, in the order of the keys: whoever revokes a key locks the programme first and then the key,
 * as the work does. Resolves to the programmes whose keys were written.
 */
export async function noteCallers(trx: Db, callers: readonly Caller[]): Promise<number[]> {
	const uses = new Map(
		callers.flatMap(({ keyId, keyUsedAtMs, programme }) =>
			keyUsedAtMs === null ? [] : [[keyId, { usedAtMs: keyUsedAtMs, programmeId: programme.id }]],
		),
	);
	const ordered = [...uses].sort(([a], [b]) => a - b);
	for (const [keyId, { usedAtMs }] of ordered) await noteKeyUse(trx, keyId, usedAtMs);
	return ordered.map(([, { programmeId }]) => programmeId);
}

/** Whose key it is, before anything else of the request is looked at. */
export async function findKey(
	callers: Pick<KnownCallers, "findKey">,
	authorization: string | undefined,
): Promise<Result<KnownKey>> {
	const key = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
	if (key === undefined) return refusalOf("missing_api_key", {});
	const found = await callers.findKey(sha256Hex(key));
	if (found === undefined) return refusalOf("unknown_api_key", {});
	if (found.apiKey.revoked_at_ms !== null) return refusalOf("revoked_api_key", {});
	return succeed(found);
}

function isUseNoted({ last_used_at_ms: lastUsedAtMs }: ApiKey, nowMs: number): boolean {
	return lastUsedAtMs !== null && lastUsedAtMs > nowMs - KEY_USE_NOTED_EVERY_MS;
}

interface Trio {
	timestamp: string;
	nonce: string;
	signature: string;
}

function parseTrio(request: SignedRequest, headers: HeaderNames, nowMs: number): Result<Trio> {
	const timestamp = request.header(headers.timestamp);
	const nonce = request.header(headers.nonce);
	const signature = request.header(headers.signature);
	if (timestamp === undefined) return missingHeader(headers.timestamp);
	if (nonce === undefined) return missingHeader(headers.nonce);
	if (signature === undefined) return missingHeader(headers.signature);
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
	// The contract's own nonces are hex; UUIDs and base64url are common on the shops' side.
	if (!/^[0-9A-Za-z_-]{8,128}$/.test(nonce)) {
		return refusalOf("malformed_nonce", { header: headers.nonce });
	}
	return succeed({ timestamp, nonce, signature });
}

function missingHeader(name: string): ReturnType<typeof refuse> {
	return refusalOf("missing_signature_header", { header: name });
}

/** The row of the secret that it was signed with. */
function verifySignature(
	keys: readonly { id: number; key: SigningKey }[],
	request: SignedRequest,
	{ timestamp, nonce, signature }: Trio,
	headers: HeaderNames,
): Result<number> {
	if (keys.length === 0) return refusalOf("no_signing_secret", {});
	const digest = sha256Hex(request.rawBody);
	const canonical = canonicalString(request.method, request.target, timestamp, nonce, digest);
	const match = keys.find(({ key }) => signatureMatches(key, canonical, signature));
	if (match !== undefined) return succeed(match.id);
	const { method, target } = request;
	return refusalOf("bad_signature", { header: headers.signature, method, target, digest });
}

function spendable({ timestamp, nonce }: Trio): { nonce: string; nonceExpiresAtMs: number } {
	// A timestamp from the future stays fresh the longest; one second more covers the rounding.
	return { nonce, nonceExpiresAtMs: (Number(timestamp) + TIMESTAMP_TOLERANCE_SECONDS + 1) * 1000 };
}

/** Padded keys by secret row: unsealing for every request would cost more than checking the signature. */
class OpenedSecrets {
	static readonly #MAX_KEPT = 10_000;
	readonly #sealingKey: Uint8Array;
	readonly #keys = new Map<number, SigningKey>();

	constructor(sealingKey: Uint8Array) {
		this.#sealingKey = sealingKey;
	}

	keyOf({ id, receiver_id, sealed }: SigningSecret): SigningKey {
		const kept = this.#keys.get(id);
		if (kept !== undefined) return kept;
		if (this.#keys.size >= OpenedSecrets.#MAX_KEPT) this.#keys.clear();
		const secret = openSecret(this.#sealingKey, receiver_id, sealed);
		if (secret === null) throw new Error("a signing secret does not open with this RINGBACK_SECRET_KEY");
		const key = signingKey(secret);
		this.#keys.set(id, key);
		return key;
	}
}
