// An event of the stream, signed as its callback would be: so a listener without an endpoint of its own can check that
// the secret it has is the one that callbacks are signed with.

import { openSecret } from "../domain/sealing.ts";
import { canonicalString, sha256Hex, sign, signingKey } from "../domain/signature.ts";
import { findActiveSecret } from "../store/queries/signing-secrets.ts";
import type { SignedEvent } from "./answers.ts";
import type { AppDeps } from "./deps.ts";

/** There is no Postback URL in it: the path that every example has. */
const SIGNED_PATH = "/postback";
const NONCE_BYTES = 16;

/** Null while no secret is active, or it cannot be opened: then nothing can be signed. */
export async function findEventSigner(
	{ store, clock, random, sealingKey }: Pick<AppDeps, "store" | "clock" | "random" | "sealingKey">,
	programme: { id: number },
): Promise<((body: string) => SignedEvent) | null> {
	const active = await findActiveSecret(store.db, programme.id);
	const secret = active === undefined ? null : openSecret(sealingKey, programme.id, active.sealed);
	if (secret === null) return null;
	const key = signingKey(secret);
	return (body) => {
		const timestamp = String(Math.floor(clock.nowMs() / 1_000));
		const nonce = random.hex(NONCE_BYTES);
		const canonical = canonicalString("POST", SIGNED_PATH, timestamp, nonce, sha256Hex(body));
		return { path: SIGNED_PATH, timestamp, nonce, signature: sign(key, canonical) };
	};
}
