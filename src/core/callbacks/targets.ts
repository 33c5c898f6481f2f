// The target of each receiver, which is the URL of its callbacks and the key that signs them. A target is read together
// with the due deliveries, or comes with a sale. It is used for one second, and then read again.

import { parsePostbackUrl } from "../domain/postback-url.ts";
import type { CallbackForm, ReceiverId, ReceiverKind } from "../domain/receiver.ts";
import { type OpeningKeys, openSecret } from "../domain/sealing.ts";
import { type SigningKey, signingKey } from "../domain/signature.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import type { CallbackTarget } from "../store/queries/queue.ts";

export interface Target {
	kind: ReceiverKind;
	form: CallbackForm;
	url: string;
	/** The path and query of the URL, which are signed. Those of a GET callback still have their macros. */
	pathAndQuery: string;
	endpointId: number;
	secretId: number;
	key: SigningKey;
}

export interface TargetReading {
	/** Epoch of the URL. Deliveries of an older epoch were created for a URL that has been removed since. */
	endpointEpoch: number;
	/** URL and key, or null if there is no URL or no secret that can be decrypted. */
	target: Target | null;
	/** Monotonic time before the database was asked. The target may be out of date from this time on. */
	readAtMs: number;
	/** Monotonic time at which the database's answer arrived. */
	learnedAtMs: number;
}

export type OpenTarget = (
	found: CallbackTarget,
	when: Pick<TargetReading, "readAtMs" | "learnedAtMs">,
) => TargetReading;

const FRESH_MS = SECOND_MS;
/** Age at which a pass reads the target of a waiting delivery again, so that the delivery seldom has to be released. */
export const AGING_MS: number = FRESH_MS / 2;
/**
 * Maximum age of a target, counted from the time at which it was read. It is the maximum duration of a
 * request. Even a request that was sent just before the target changed may arrive this long after the change.
 */
const SENDABLE_MS = 5 * SECOND_MS;
/**
 * Maximum number of decrypted secrets in memory, which is more than one process has in use at once. Beyond it the
 * oldest is dropped.
 */
const MAX_OPENED = 10_000;

export function isFresh({ readAtMs, learnedAtMs }: TargetReading, monotonicMs: number): boolean {
	return monotonicMs - learnedAtMs < FRESH_MS && monotonicMs - readAtMs < SENDABLE_MS;
}

/**
 * Creates a function that decrypts secrets and parses URLs. Both cost more than a request, so the result is cached for
 * each pair of endpoint and secret.
 */
export function createTargetOpener(keyRing: OpeningKeys, log: Log): OpenTarget {
	const opened = new Map<ReceiverId, Target>();

	function open(found: CallbackTarget): Target | null {
		const { receiverId, kind, endpointId, url, form, secretId, sealedSecret } = found;
		if (endpointId === null || url === null || form === null) return null;
		if (secretId === null || sealedSecret === null) return null;
		const cached = opened.get(receiverId);
		if (cached?.endpointId === endpointId && cached.secretId === secretId) return cached;
		const secret = openSecret(keyRing, receiverId, sealedSecret);
		if (secret === null) {
			// The secret was encrypted with another key. The receiver's deliveries wait, and are sent when the right key is
			// back.
			log.error(
				{ receiverId },
				"a signing secret cannot be opened with this RINGBACK_SECRET_KEY; its callbacks wait until it can",
			);
			return null;
		}
		const parsed = parsePostbackUrl(url);
		// A URL that is no longer allowed stays the target. The transport refuses it, so that its deliveries fail and the
		// owner is notified. Otherwise they would wait without end.
		if (!parsed.ok)
			log.warn({ receiverId, code: parsed.fault.code }, "a saved Postback URL is no longer valid");
		const pathAndQuery = parsed.ok ? parsed.value.target : "";
		const target = { kind, form, url, pathAndQuery, endpointId, secretId, key: signingKey(secret) };
		const [oldest] = opened.keys();
		if (opened.size >= MAX_OPENED && oldest !== undefined) opened.delete(oldest);
		opened.set(receiverId, target);
		return target;
	}

	return (found, when) => ({
		endpointEpoch: found.endpointEpoch,
		target: open(found),
		...when,
	});
}
