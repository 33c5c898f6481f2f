// A target is the URL of a receiver's callbacks and the key that signs them. The engine reads targets together with
// due deliveries, or gets them with sales. It uses a target for one second, and then reads it again.

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
	/** Path and query of the URL, which are signed. The URL of a GET callback still contains its macros here. */
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
	/** Monotonic time at which the database was asked. A later change of the target is not included. */
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
/** Maximum number of decrypted secrets in memory, more than one process uses at once. The oldest is dropped first. */
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
		// A URL that is no longer allowed stays the target. The transport refuses to send to it, so its deliveries fail
		// and the owner is notified. Otherwise the deliveries would wait for ever.
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
