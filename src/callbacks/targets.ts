// Where each receiver's callbacks go and how they are signed, as this engine knows it. The rule: what was read is
// fresh for a second, or until somebody says that it may have changed. In a pass the engine asks which of the
// receivers that it has deliveries of in hand are not fresh, and reads those in the pass's transaction.

import { parsePostbackUrl } from "../domain/postback-url.ts";
import { openSecret } from "../domain/sealing.ts";
import { type SigningKey, signingKey } from "../domain/signature.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import type { CallbackTarget } from "../store/queue.ts";

export interface Target {
	url: string;
	/** What is signed. */
	pathAndQuery: string;
	endpointId: number;
	key: SigningKey;
}

export interface KnownTarget {
	/** Deliveries of an older epoch were made for a URL that has been removed since. */
	endpointEpoch: number;
	/** Null when there is no URL, or no secret that can be opened. */
	target: Target | null;
	/** When the pass began that read it. */
	readAtMs: number;
}

interface Entry extends KnownTarget {
	secretId: number | null;
	/** It may have changed since; until it is read again, the last known one stays. */
	isOutdated: boolean;
}

/**
 * A change made in this process is announced and read at once; one made elsewhere is seen after this. It comes no
 * later than to a request that was already in flight.
 */
const FRESH_MS = SECOND_MS;
/**
 * Beyond this it is not sent to. Passes keep it younger, but for a process that stood still or lost the database. As
 * long as a request may take: until then one that had begun before the change would still arrive.
 */
const SENDABLE_FOR_MS = 5 * SECOND_MS;
/** More than one process will have busy at once; beyond it, what was read longest ago is forgotten. */
const MAX_KNOWN = 10_000;

export class Targets {
	readonly #sealingKey: Uint8Array;
	readonly #log: Log;
	/** In the order in which they were read. */
	readonly #known = new Map<number, Entry>();
	/** What the pass under way reads; a receiver leaves it when something of it changes meanwhile. */
	#reading = new Set<number>();

	constructor(sealingKey: Uint8Array, log: Log) {
		this.#sealingKey = sealingKey;
		this.#log = log;
	}

	find(receiverId: number): KnownTarget | undefined {
		return this.#known.get(receiverId);
	}

	/** What is known of it, or is being read just now, may be wrong. */
	outdate(receiverId: number): void {
		this.#reading.delete(receiverId);
		const known = this.#known.get(receiverId);
		if (known !== undefined) known.isOutdated = true;
	}

	/** Zero when it has to be read. */
	freshForMs(receiverId: number, nowMs: number): number {
		const known = this.#known.get(receiverId);
		return known === undefined || known.isOutdated ? 0 : youngForMs(known, FRESH_MS, nowMs);
	}

	/** Which of these a pass has to read; `learn` takes what it found. */
	startReading(receiverIds: Iterable<number>, nowMs: number): number[] {
		this.#reading = new Set();
		for (const id of receiverIds) if (this.freshForMs(id, nowMs) === 0) this.#reading.add(id);
		return [...this.#reading];
	}

	learn(found: CallbackTarget, readAtMs: number): void {
		const { receiverId, endpointEpoch, secretId } = found;
		const target = this.#targetOf(found, this.#known.get(receiverId));
		const isStillSo = this.#reading.delete(receiverId);
		this.#known.delete(receiverId);
		this.#known.set(receiverId, {
			endpointEpoch,
			secretId,
			target,
			readAtMs,
			isOutdated: !isStillSo,
		});
		if (this.#known.size <= MAX_KNOWN) return;
		for (const oldest of this.#known.keys()) {
			this.#known.delete(oldest);
			return;
		}
	}

	/** Opening a secret and parsing a URL cost more than a request: both are done once for each pair of them. */
	#targetOf(found: CallbackTarget, known: Entry | undefined): Target | null {
		const { receiverId, endpointId, url, secretId, sealedSecret } = found;
		if (endpointId === null || url === null || secretId === null || sealedSecret === null) return null;
		if (known?.target?.endpointId === endpointId && known.secretId === secretId) return known.target;
		const secret = openSecret(this.#sealingKey, receiverId, sealedSecret);
		if (secret === null) {
			// Sealed under another key. Its deliveries wait; they are not lost when the right key comes back.
			this.#log.error(
				{ receiverId },
				"a signing secret cannot be opened with this RINGBACK_SECRET_KEY; its callbacks wait until it can",
			);
			return null;
		}
		const parsed = parsePostbackUrl(url);
		// Kept as a target although nothing can be sent there: the transport refuses it, so that its deliveries
		// come to an end and the owner is told, instead of waiting for ever.
		if (!parsed.ok)
			this.#log.warn({ receiverId, code: parsed.fault.code }, "a saved Postback URL is not valid any more");
		return { url, pathAndQuery: parsed.ok ? parsed.value.target : "", endpointId, key: signingKey(secret) };
	}
}

/** A request may go where this says. */
export function isSendable(known: KnownTarget, nowMs: number): boolean {
	return youngForMs(known, SENDABLE_FOR_MS, nowMs) > 0;
}

function youngForMs({ readAtMs }: KnownTarget, limitMs: number, nowMs: number): number {
	// Read in the future: the clock was set back, so it is not known how old this is.
	return readAtMs > nowMs ? 0 : Math.max(0, readAtMs + limitMs - nowMs);
}
