// Options of a client. A setting that can never work is a mistake in the shop's code or environment, and the
// only reason why a client throws. No message quotes a value, because it may be a secret in the wrong place.

import { isObject } from "../json.ts";
import { demand, demandBrand, isFilled, longestMs } from "../option-checks.ts";
import { parseOrigin } from "../origin.ts";
import { readSecretSource, type SecretSource, splitSecrets } from "../secrets.ts";
import type { ClientSettings } from "./call.ts";
import type { Fetch } from "./exchange.ts";
import { defaultRetry, type RetryPolicy } from "./retry.ts";

export type ClientOptions = {
	/**
	 * Address of the service, such as `https://ringback.example`. `createClient` throws if this or another
	 * required option is undefined.
	 */
	readonly url: string | undefined;
	readonly apiKey: string | undefined;
	/**
	 * Signing secret of the programme, several of them while one is being replaced, or a function that returns
	 * them. The first one signs. The function is called for every try.
	 */
	readonly secret: SecretSource;
	/** Brand in the header names, `X-<Brand>-Signature`. Default: `Service`. */
	readonly brand?: string | undefined;
	/** Function that sends requests. Default: the runtime's own fetch. */
	readonly fetch?: Fetch | undefined;
	/** Time limit in milliseconds for one try, including reading the answer. Default: 10,000. */
	readonly timeoutMs?: number | undefined;
	readonly retry?: Partial<RetryPolicy> | undefined;
	/** Clock for signatures. Default: `Date.now`. */
	readonly now?: (() => number) | undefined;
};

/**
 * Default time limit. The service answers within milliseconds, so after this time something between client
 * and service hangs.
 */
const defaultTimeoutMs = 10_000;
/** Maximum number of tries that can be configured. More would be an endless loop. */
const mostAttempts = 20;

export function readOptions(options: ClientOptions): ClientSettings {
	demand(isObject(options), "createClient needs its options: { url, apiKey, secret }.");
	const { apiKey, secret, brand = "Service", timeoutMs = defaultTimeoutMs, now = Date.now } = options;
	// `fetch` is called on the global object, because some runtimes refuse a detached function.
	const fetch: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
	const { maxAttempts, firstDelayMs, maxDelayMs, totalMs } = options.retry ?? {};
	const retry: RetryPolicy = {
		maxAttempts: maxAttempts ?? defaultRetry.maxAttempts,
		firstDelayMs: firstDelayMs ?? defaultRetry.firstDelayMs,
		maxDelayMs: maxDelayMs ?? defaultRetry.maxDelayMs,
		totalMs: totalMs ?? defaultRetry.totalMs,
	};

	demand(isFilled(apiKey) && /^[!-~]+$/.test(apiKey), "apiKey must be the API key as it was shown: rbk_…");
	// A secret that is sent as the key would appear in the logs of every proxy.
	const isSwapped =
		typeof secret !== "function" && splitSecrets(secret).some((one) => one.startsWith("rbk_"));
	demand(!apiKey.startsWith("rbs_") && !isSwapped, "apiKey and secret are swapped.");
	const readSecrets = readSecretSource(secret);
	demandBrand(brand);
	demand(typeof fetch === "function", "fetch must be a function.");
	demand(typeof now === "function", "now must be a function that gives milliseconds.");
	demand(isWithin(timeoutMs, 1, longestMs), "timeoutMs must be a number of milliseconds.");
	demand(
		Number.isInteger(retry.maxAttempts) && isWithin(retry.maxAttempts, 1, mostAttempts),
		`retry.maxAttempts must be a whole number from 1 to ${mostAttempts}.`,
	);
	demand(isWithin(retry.firstDelayMs, 0, longestMs), "retry.firstDelayMs must be milliseconds.");
	demand(isWithin(retry.maxDelayMs, 0, longestMs), "retry.maxDelayMs must be milliseconds.");
	demand(isWithin(retry.totalMs, 1, longestMs), "retry.totalMs must be milliseconds.");
	const findSecrets = () => readSecrets().catch(() => undefined);
	return { origin: readOrigin(options.url), apiKey, findSecrets, brand, fetch, timeoutMs, retry, now };
}

function readOrigin(text: unknown): string {
	const parsed = parseOrigin(text);
	if (parsed.ok) return parsed.origin;
	throw new TypeError(
		parsed.problem === "not_an_address"
			? "url must be the service's address, such as https://ringback.example."
			: "url must be the service's address without a path, query or user name: the path is signed as the service sees it.",
	);
}

function isWithin(value: unknown, least: number, most: number): boolean {
	return typeof value === "number" && value >= least && value <= most;
}
