// What a shop may say about its receiver, and what holds where it says nothing.

import type { PostbackEvent } from "./event.ts";
import { createMemoryStore, type StoreEvent } from "./event-store.ts";
import { createNonceMemory, type NonceMemory } from "./nonce-memory.ts";
import type { RefusalReason } from "./refusal.ts";

type Secrets = string | readonly string[] | undefined;

/** A function is asked for every request, so that a replaced secret counts without a restart. */
export type SecretSource = Secrets | (() => Secrets | Promise<Secrets>);

export type RefusedReason =
	| RefusalReason
	| "method_not_allowed"
	| "body_too_large"
	| "body_too_slow"
	| "body_incomplete";

export type Refused = {
	/** The HTTP status that was answered. */
	readonly status: number;
	readonly reason: RefusedReason;
	/** For the log. Holds nothing of the secret, and nothing the sender wrote. */
	readonly detail: string;
};

export type ReceiverOptions = {
	/** The programme's signing secret; the old and the new one while it is being replaced; or a function. */
	readonly secret: SecretSource;
	/** The work, once per event and after the answer has gone out. */
	readonly onEvent: (event: PostbackEvent) => unknown;
	/** Keeps the event, before the answer. Default: `createMemoryStore()`, which forgets when the process ends. */
	readonly store?: StoreEvent | undefined;
	/** Default: `createNonceMemory()`. False: none are remembered. */
	readonly nonces?: NonceMemory | false | undefined;
	/** The word in the header names, `X-<Brand>-Signature`. Default: `Service`. */
	readonly brand?: string | undefined;
	/** The path and query of the Postback URL, where a proxy or a framework changes them on the way. */
	readonly path?: string | ((received: string) => string) | undefined;
	/** True: events of test conversions are answered 204, and neither stored nor handed on. Default: false. */
	readonly ignoreTests?: boolean | undefined;
	/** Default: 65,536. */
	readonly maxBodyBytes?: number | undefined;
	/** Reading, checking and storing together. Default: 4,000, for the service waits 5 seconds. */
	readonly answerWithinMs?: number | undefined;
	/** The receiver's clock. Default: `Date.now`. */
	readonly now?: (() => Date | number) | undefined;
	/** A request was refused. Default: a line on `console.warn`. */
	readonly onRefused?: ((refused: Refused) => unknown) | undefined;
	/** Storing failed, or the work did, or something around them. Default: `console.error`. */
	readonly onError?: ((error: unknown, event?: PostbackEvent) => unknown) | undefined;
};

/** Every option with a value. */
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
	readonly onRefused: (refused: Refused) => unknown;
	readonly onError: (error: unknown, event?: PostbackEvent) => unknown;
};

// Twenty times the longest delivery: 14 fields, of which the shop's own order id is the longest.
const defaultMaxBodyBytes = 65_536;
// The service gives an attempt 5 seconds, look-up, connection and TLS handshake included: one is left for those.
const defaultAnswerWithinMs = 4_000;
const brandForm = /^[A-Za-z][A-Za-z0-9-]*$/;

/** Throws on what can only be a mistake of the program: better at its start than at its first delivery. */
export function readOptions(options: ReceiverOptions): Settings {
	const { onEvent, brand = "Service", path, nonces } = options;
	if (typeof onEvent !== "function") throw new TypeError("onEvent must be a function that takes the event.");
	if (!brandForm.test(brand)) {
		throw new TypeError("brand must be letters, digits or hyphens and start with a letter, such as Acme.");
	}
	const now = readClock(options.now ?? Date.now);
	return {
		readSecret: readSource(options.secret),
		onEvent,
		store: options.store ?? createMemoryStore(),
		nonces: nonces === false ? undefined : (nonces ?? createNonceMemory({ now })),
		brand,
		restorePath: typeof path === "string" ? () => path : (path ?? ((received) => received)),
		ignoreTests: options.ignoreTests ?? false,
		maxBodyBytes: readLimit("maxBodyBytes", options.maxBodyBytes ?? defaultMaxBodyBytes),
		answerWithinMs: readLimit("answerWithinMs", options.answerWithinMs ?? defaultAnswerWithinMs),
		now,
		onRefused: options.onRefused ?? logRefused,
		onError: options.onError ?? logError,
	};
}

const noSecret = "secret is empty: give the programme's signing secret, or a function that finds it.";

function readSource(source: SecretSource): Settings["readSecret"] {
	if (typeof source !== "function") {
		const secrets = keepFilled(source);
		if (secrets.length === 0) throw new TypeError(noSecret);
		return async () => secrets;
	}
	return async () => {
		const secrets = keepFilled(await source());
		// Not a refusal: a 401 would end the delivery for good because a setting was missing for a minute.
		if (secrets.length === 0) throw new TypeError(noSecret);
		return secrets;
	};
}

function keepFilled(secrets: Secrets): readonly string[] {
	return [secrets].flat().filter((secret): secret is string => typeof secret === "string" && secret !== "");
}

function readClock(now: () => Date | number): () => number {
	return () => Number(now());
}

function readLimit(name: string, value: number): number {
	if (Number.isSafeInteger(value) && value > 0) return value;
	throw new TypeError(`${name} must be a whole number above zero.`);
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
