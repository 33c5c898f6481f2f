// Where each programme's callbacks go and how they are signed. It is read with what is due, or comes with a sale, and is
// sent to for a second: then it is read again.

import { parsePostbackUrl } from "../domain/postback-url.ts";
import { openSecret } from "../domain/sealing.ts";
import { type SigningKey, signingKey } from "../domain/signature.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import type { CallbackTarget } from "../store/queries/queue.ts";

export interface Target {
	url: string;
	/** What is signed. */
	pathAndQuery: string;
	endpointId: number;
	secretId: number;
	key: SigningKey;
}

export interface KnownTarget {
	/** Deliveries of an older epoch were made for a URL that has been removed since. */
	endpointEpoch: number;
	/** Null when there is no URL, or no secret that can be opened. */
	target: Target | null;
	/** By the monotonic clock: before it was read, and when it was learned. */
	readAtMs: number;
	learnedAtMs: number;
}

export type OpenTarget = (
	found: CallbackTarget,
	when: Pick<KnownTarget, "readAtMs" | "learnedAtMs">,
) => KnownTarget;

const FRESH_MS = SECOND_MS;
/** Passes read the targets of what waits again after this, so that it seldom has to be put down. */
export const AGING_MS: number = FRESH_MS / 2;
/** As long as a request may take: until then one that had begun before a change would still arrive. */
const SENDABLE_MS = 5 * SECOND_MS;
/** More than one process will have busy at once; beyond it, what was opened longest ago is forgotten. */
const MAX_OPENED = 10_000;

export function isFresh({ readAtMs, learnedAtMs }: KnownTarget, monotonicMs: number): boolean {
	return monotonicMs - learnedAtMs < FRESH_MS && monotonicMs - readAtMs < SENDABLE_MS;
}

/** Opening a secret and parsing a URL cost more than a request: both are done once for each pair of them. */
export function createTargetOpener(sealingKey: Uint8Array, log: Log): OpenTarget {
	const opened = new Map<number, Target>();

	function open({ programmeId, endpointId, url, secretId, sealedSecret }: CallbackTarget): Target | null {
		if (endpointId === null || url === null || secretId === null || sealedSecret === null) return null;
		const known = opened.get(programmeId);
		if (known?.endpointId === endpointId && known.secretId === secretId) return known;
		const secret = openSecret(sealingKey, programmeId, sealedSecret);
		if (secret === null) {
			// Sealed under another key. Its deliveries wait; they are not lost when the right key comes back.
			log.error(
				{ programmeId },
				"a signing secret cannot be opened with this RINGBACK_SECRET_KEY; its callbacks wait until it can",
			);
			return null;
		}
		const parsed = parsePostbackUrl(url);
		// Kept as a target although nothing can be sent there: the transport refuses it, so that its deliveries
		// come to an end and the owner is told, instead of waiting for ever.
		if (!parsed.ok)
			log.warn({ programmeId, code: parsed.fault.code }, "a saved Postback URL is not valid any more");
		const pathAndQuery = parsed.ok ? parsed.value.target : "";
		const target = { url, pathAndQuery, endpointId, secretId, key: signingKey(secret) };
		const [oldest] = opened.keys();
		if (opened.size >= MAX_OPENED && oldest !== undefined) opened.delete(oldest);
		opened.set(programmeId, target);
		return target;
	}

	return (found, when) => ({ endpointEpoch: found.endpointEpoch, target: open(found), ...when });
}
