// A fake of the service for a shop's tests. It checks the signature of each call as the service does, keeps
// conversions in memory, and sends callbacks when the test asks for it. It knows no pixels, partners or approval
// windows, and it refuses to run in production.

import type { Fetch } from "../client/exchange.ts";
import type { Conversion } from "../conversion-fields.ts";
import type { PostbackEvent } from "../event.ts";
import { parseJson } from "../json.ts";
import { demand, demandBrand } from "../option-checks.ts";
import { readSecrets, type Secrets } from "../secrets.ts";
import { type CallbackOptions, signCallback } from "./callback.ts";
import { decideOrder, type FakeBooks, type FakeDecision } from "./fake-books.ts";
import { answerCall, type FakeAnswer } from "./fake-calls.ts";
import { createSignatureCheck } from "./fake-signatures.ts";

export type FakeServiceOptions = {
	/** API key that clients must send. Default: `rbk_fake`. */
	readonly apiKey?: string | undefined;
	/** Signing secrets that the service accepts. The first one signs callbacks. Default: `rbs_fake`. */
	readonly secret?: Secrets;
	/** Brand in the header names, `X-<Brand>-Signature`. Default: `Service`. */
	readonly brand?: string | undefined;
	/** Currency of the programme, with two decimals. Default: `EUR`. */
	readonly currency?: string | undefined;
	/** Commission in percent of the basket. Default: 8. */
	readonly commissionPercent?: number | undefined;
	/** Network fee in percent of the basket. Default: 2.5. */
	readonly networkFeePercent?: number | undefined;
	/** The service's clock. Default: `Date.now`. */
	readonly now?: (() => number) | undefined;
};

/** A call that the fake service has received, with its answer. */
export type FakeCall = {
	readonly method: string;
	/** Path and query as signed. */
	readonly path: string;
	/** The parsed body, or undefined if there was none. */
	readonly body: unknown;
	readonly status: number;
	/** Code of the refusal, or null if the call was accepted. */
	readonly code: string | null;
};

export type DeliveredCallback = {
	readonly event: PostbackEvent;
	/** HTTP status of the shop's answer. */
	readonly status: number;
};

/** Address of the shop's receiver, or its handler of web-standard requests, such as `receiver.fetch`. */
export type CallbackTarget = string | ((request: Request) => Response | Promise<Response>);

export type FakeService = {
	/** Options for `createClient`: its address, key, secret, brand, and a fetch that uses no network. */
	readonly clientOptions: {
		readonly url: string;
		readonly apiKey: string;
		readonly secret: string;
		readonly brand: string;
		readonly fetch: Fetch;
	};
	/** All calls that arrived, the oldest first. Calls during an outage are not among them. */
	readonly calls: () => readonly FakeCall[];
	/** All conversions as they are now, in the order in which they were recorded. */
	readonly conversions: () => readonly Conversion[];
	/** Decides about an order as the network's staff or the approval window do. Throws if that is not possible. */
	readonly decide: (orderId: string, decision: FakeDecision) => Conversion;
	/** Events that have not been delivered yet, the oldest first. */
	readonly pendingEvents: () => readonly PostbackEvent[];
	/**
	 * Sends each pending event to the shop's receiver, one after the other. Events that are answered with 2xx
	 * are removed, and all others stay pending.
	 */
	readonly sendCallbacks: (
		target: CallbackTarget,
		options?: { readonly path?: string | undefined },
	) => Promise<readonly DeliveredCallback[]>;
	/**
	 * Starts an outage: calls get no answer, or this HTTP status, or are processed although their answer is lost.
	 * `null` ends the outage.
	 */
	readonly setOutage: (outage: "no_answer" | "answer_lost" | number | null) => void;
};

export type { FakeDecision } from "./fake-books.ts";

/** Reserved name that leads nowhere, in case a client is used without the fake's fetch. */
const url = "https://ringback.invalid";

/** Creates a fake service. Throws in production, because nothing that it records is real. */
export function createFakeService(options: FakeServiceOptions = {}): FakeService {
	const { apiKey = "rbk_fake", secret = "rbs_fake", brand = "Service", now = Date.now } = options;
	demand(
		readEnvironment() !== "production",
		"createFakeService records nothing real, and NODE_ENV is production. Use createClient with the network's address.",
	);
	demandBrand(brand);
	const secrets = readSecrets(secret);
	const books: FakeBooks = {
		currency: options.currency ?? "EUR",
		commissionPercent: options.commissionPercent ?? 8,
		networkFeePercent: options.networkFeePercent ?? 2.5,
		now,
		conversions: new Map(),
		refunds: new Map(),
		pending: [],
	};
	const checkSignature = createSignatureCheck({ apiKey, secrets, brand, now });
	const calls: FakeCall[] = [];
	let outage: "no_answer" | "answer_lost" | number | null = null;

	async function process(request: Request): Promise<FakeAnswer> {
		const path = request.url.slice(url.length);
		const text = await request.text();
		const refused = await checkSignature(request, path, text);
		const answer = refused ?? answerCall(books, request.method, path, text);
		const { status, body: sent } = answer;
		const code = typeof sent["code"] === "string" ? sent["code"] : null;
		const body = parseJson(text);
		calls.push({ method: request.method, path, body, status, code });
		return answer;
	}

	async function fetch(...[input, init]: Parameters<Fetch>): Promise<Response> {
		if (outage === "no_answer") throw new TypeError("fetch failed: the fake service has an outage");
		if (typeof outage === "number") return new Response(null, { status: outage });
		const { status, body } = await process(new Request(input, init));
		if (outage === "answer_lost") throw new TypeError("fetch failed: the fake service's answer is lost");
		const type = status < 400 ? "application/json" : "application/problem+json";
		return new Response(JSON.stringify(body), { status, headers: { "content-type": type } });
	}

	return {
		clientOptions: { url, apiKey, secret: secrets[0] ?? "", brand, fetch },
		calls: () => [...calls],
		conversions: () => [...books.conversions.values()],
		decide: (orderId, decision) => decideOrder(books, orderId, decision),
		pendingEvents: () => [...books.pending],
		async sendCallbacks(target, { path = "/postback" } = {}) {
			const delivered: DeliveredCallback[] = [];
			for (const event of [...books.pending]) {
				const status = await sendCallback(event, target, path, { secret: secrets, brand, now: now() });
				delivered.push({ event, status });
				if (status >= 200 && status < 300) books.pending = books.pending.filter((one) => one !== event);
			}
			return delivered;
		},
		setOutage(next) {
			outage = next;
		},
	};
}

/** Sends one callback, and resolves to the status of the answer. */
async function sendCallback(
	event: PostbackEvent,
	target: CallbackTarget,
	path: string,
	signing: Pick<CallbackOptions, "secret" | "brand" | "now">,
): Promise<number> {
	const isAddress = typeof target === "string";
	const address = isAddress ? new URL(target) : new URL(path, "https://shop.invalid");
	const signed = await signCallback(event, { ...signing, path: address.pathname + address.search });
	const { method, headers, body } = signed;
	const request = new Request(address, { method, headers, body });
	const response = isAddress ? await globalThis.fetch(request) : await target(request);
	await response.body?.cancel();
	return response.status;
}

/** Returns NODE_ENV, or undefined in a runtime that has no environment. */
function readEnvironment(): string | undefined {
	const runtime: { process?: { env?: Record<string, string | undefined> } } = globalThis;
	return runtime.process?.env?.["NODE_ENV"];
}
