// The options of a receiver and their defaults.

import type { PostbackEvent } from "./event.ts";
import { createMemoryStore, type StoreEvent } from "./event-store.ts";
import { isObject } from "./json.ts";
import { createNonceMemory, type NonceMemory } from "./nonce-memory.ts";
import { demand, demandBrand, demandWhole } from "./option-checks.ts";
import type { RefusalReason } from "./refusal.ts";
import { readSecretSource, type SecretSource } from "./secrets.ts";

export type RefusedReason =
	| RefusalReason
	| "method_not_allowed"
	| "body_too_large"
	| "body_too_slow"
	| "body_incomplete";

export type Refused = {
	/** HTTP status of the answer. */
	readonly status: number;
	readonly reason: RefusedReason;
	/** Message for the log. It contains no part of the secret and no text of the sender. */
	readonly detail: string;
};

/**
 * A request that could not be verified, as it was received. It is the input for a signature check. A stranger
 * may have sent it.
 */
export type ReceivedRequest = {
	readonly path: string;
	/** The headers that belong to the signature and the event. */
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
};

export type ReceiverOptions = {
	/**
	 * Signing secret of the programme, both secrets while one is being replaced, or a function that returns
	 * them.
	 */
	readonly secret: SecretSource;
	/** The shop's handler of an event. It is called once for each event, after the answer has been sent. */
	readonly onEvent: (event: PostbackEvent) => unknown;
	/**
	 * Stores the event before it is acknowledged. Default: `createMemoryStore()`, which forgets everything when
	 * the process ends.
	 */
	readonly store?: StoreEvent | undefined;
	/** Memory of nonces, or false to turn it off. Default: `createNonceMemory()`. */
	readonly nonces?: NonceMemory | false | undefined;
	/** Brand in the header names, `X-<Brand>-Signature`. Default: `Service`. */
	readonly brand?: string | undefined;
	/** Path and query of the Postback URL. Set it if a proxy or a framework changes them. */
	readonly path?: string | ((received: string) => string) | undefined;
	/** True to answer events of test conversions with 204 without storing or handling them. Default: false. */
	readonly ignoreTests?: boolean | undefined;
	/** Maximum size of a body. Default: 65,536. */
	readonly maxBodyBytes?: number | undefined;
	/**
	 * Time limit in milliseconds for reading, checking and storing together. Default: 4,000, because the
	 * service waits 5 seconds.
	 */
	readonly answerWithinMs?: number | undefined;
	/** The receiver's clock. Default: `Date.now`. */
	readonly now?: (() => Date | number) | undefined;
	/**
	 * Called when a request was refused. `received` is given if the request was read but could not be verified.
	 * The function may be asynchronous, but nothing waits for it. Default: a line on `console.warn` without the
	 * request.
	 */
	readonly onRefused?: ((refused: Refused, received?: ReceivedRequest) => unknown) | undefined;
	/** Called when storing an event or its handler failed. Default: `console.error`. */
	readonly onError?: ((error: unknown, event?: PostbackEvent) => unknown) | undefined;
};

/** All options with their defaults filled in. */
export type Settings = {
	readonly readSecret: () => Promise<string | readonly string[]>;
	readonly onEvent: (event: PostbackEvent) => unknown;
	readonly store: StoreEvent;
	readonly nonces: NonceMemory | undefined;
	readonly brand: string;
	readonly restorePath: (received: string) => string;
	readonly ignoreTests: boolean;
	readonly maxBodyBytes: number;
	readonly answerWithinMs: number;
	readonly now: () => number;
	readonly onRefused: (refused: Refused, received?: ReceivedRequest) => unknown;
	readonly onError: (error: unknown, event?: PostbackEvent) => unknown;
};

// The default is twenty times the size of the longest callback, which has 14 fields. The longest of them is
// the shop's order id.
const defaultMaxBodyBytes = 65_536;
// The service allows 5 seconds for an attempt, including lookup, connection and TLS handshake. One second is
// reserved for those.
const defaultAnswerWithinMs = 4_000;
// The service stops waiting after five seconds, so a later answer is useless.
const longestAnswerMs = 5_000;

/**
 * Returns the options with their defaults. Throws for values that can only be a programming mistake, because
 * it is better to fail at the start than at the first callback.
 */
export function readOptions(options: ReceiverOptions): Settings {
	demand(isObject(options), "createReceiver needs its options: { secret, onEvent }, and more if you like.");
	const { onEvent, store, brand = "Service", ignoreTests = false } = options;
	const { onRefused = logRefused, onError = logError } = options;
	demand(typeof onEvent === "function", "onEvent must be a function that takes the event.");
	demand(
		store === undefined || typeof store === "function",
		'store must be a function that keeps the event and says "stored" or "seen".',
	);
	demandBrand(brand);
	demand(typeof ignoreTests === "boolean", "ignoreTests must be true or false.");
	demand(typeof onRefused === "function", "onRefused must be a function.");
	demand(typeof onError === "function", "onError must be a function.");
	const { maxBodyBytes = defaultMaxBodyBytes, answerWithinMs = defaultAnswerWithinMs } = options;
	demandWhole("maxBodyBytes", maxBodyBytes, Number.MAX_SAFE_INTEGER);
	demandWhole("answerWithinMs", answerWithinMs, longestAnswerMs);
	const now = readClock(options.now ?? Date.now);
	return {
		// An error of the shop's function leads to a 5xx and not to a 401, because a 401 would end the delivery
		// for good, even if the setting is wrong only for a minute.
		readSecret: readSecretSource(options.secret),
		onEvent,
		store: store ?? createMemoryStore(),
		nonces: readNonces(options.nonces, now),
		brand,
		restorePath: readPath(options.path),
		ignoreTests,
		maxBodyBytes,
		answerWithinMs,
		now,
		onRefused,
		onError,
	};
}

function readNonces(nonces: ReceiverOptions["nonces"], now: () => number): NonceMemory | undefined {
	if (nonces === false) return undefined;
	if (nonces === undefined) return createNonceMemory({ now });
	demand(
		isObject(nonces) &&
			typeof nonces.remember === "function" &&
			["function", "undefined"].includes(typeof nonces.forget),
		"nonces must have a function remember, and may have forget; or be false for none.",
	);
	return nonces;
}

function readPath(path: ReceiverOptions["path"]): Settings["restorePath"] {
	if (path === undefined) return (received) => received;
	if (typeof path === "function") return path;
	demand(
		typeof path === "string" && path.startsWith("/"),
		"path must be the path and query of the Postback URL, such as /postback?shop=42, or a function.",
	);
	return () => path;
}

function readClock(now: () => Date | number): () => number {
	demand(typeof now === "function", "now must be a function that gives a Date or milliseconds.");
	return () => Number(now());
}

function logRefused({ status, reason, detail }: Refused): void {
	console.warn(`Callback refused with ${status}, ${reason}: ${detail}`);
}

function logError(error: unknown, event?: PostbackEvent): void {
	console.error(
		event === undefined ? "Callback:" : `Callback ${event.event} of ${event.conversionId}:`,
		error,
	);
}
