// Handles one request, from its method to its answer, in the order of contract section 4.3.
//
//   not a POST → 405 · body too large → 413 · too slow → 408 · not genuine, stale or repeated → 401
//   genuine, but no event → 400 · cannot be stored (or not in time) → 503 · stored, or seen before → 204

import { type Deadline, late, startDeadline } from "./deadline.ts";
import type { PostbackEvent } from "./event.ts";
import { type PostbackHeaders, readHeader } from "./headers.ts";
import { claimNonce } from "./nonce-claim.ts";
import type { NonceMemory } from "./nonce-memory.ts";
import type { ReceivedRequest, Refused, Settings } from "./receiver-options.ts";
import type { Refusal } from "./refusal.ts";
import { reportError, reportRefused } from "./report.ts";
import { verifyPostback } from "./verify.ts";

export type Arrival = {
	readonly method: string;
	/** Path and query string, as received. */
	readonly path: string;
	readonly headers: PostbackHeaders;
	/** The body as received. */
	readonly body: Uint8Array | string;
};

export type ReadBody =
	| { readonly ok: true; readonly bytes: Uint8Array | string }
	| { readonly ok: false; readonly problem: "too_large" | "incomplete" | "read_before" };

/** A request whose body has not been read yet. `readBody` reads up to `maxBytes`. */
export type OpenArrival = Omit<Arrival, "body"> & { readBody(maxBytes: number): Promise<ReadBody> };

export type Answer = {
	readonly status: number;
	readonly headers: Readonly<Record<string, string>>;
	/** Body of the answer, or an empty text. */
	readonly body: string;
};

export type Reception = {
	readonly answer: Answer;
	/**
	 * Runs the shop's handler, if there is work left to do. Call it after the answer has been sent. It never
	 * rejects.
	 */
	readonly finish?: () => Promise<void>;
};

/** Handles a request. Never rejects, because every problem leads to an answer. */
export async function receive(settings: Settings, arrival: OpenArrival): Promise<Reception> {
	if (arrival.method !== "POST") {
		const detail = "This address takes status callbacks, which are sent by POST. There is nothing to see.";
		return refuse(settings, { status: 405, reason: "method_not_allowed", detail });
	}
	const deadline = startDeadline(settings.answerWithinMs);
	const claim = claimNonce(settings);
	const reception = await receivePost(settings, arrival, deadline, claim.nonces).catch((error: unknown) =>
		failFor(settings, error),
	);
	deadline.end();
	if (reception.answer.status >= 500) claim.takeBack();
	return reception;
}

async function receivePost(
	settings: Settings,
	arrival: OpenArrival,
	deadline: Deadline,
	nonces: NonceMemory | undefined,
): Promise<Reception> {
	const body = await deadline.race(arrival.readBody(settings.maxBodyBytes));
	if (body === late) {
		const detail = `The body was not here within ${settings.answerWithinMs} ms.`;
		return refuse(settings, { status: 408, reason: "body_too_slow", detail });
	}
	if (!body.ok) return refuseBody(settings, body.problem);

	const verification = await deadline.race(verifyArrival(settings, arrival, body.bytes, nonces));
	if (verification === late) return failFor(settings, tooLate(settings, "Checking the request"));
	if (!verification.ok) {
		const refused = { ...verification, status: statusOf(verification) };
		return refuse(settings, refused, describeReceived(settings, arrival, body.bytes));
	}

	const { event } = verification;
	if (event.test && settings.ignoreTests) return accepted;
	return storeInTime(settings, event, deadline);
}

async function verifyArrival(
	settings: Settings,
	arrival: OpenArrival,
	rawBody: Uint8Array | string,
	nonces: NonceMemory | undefined,
) {
	const { brand, now } = settings;
	const path = settings.restorePath(arrival.path);
	const secret = await settings.readSecret();
	return verifyPostback({ path, headers: arrival.headers, rawBody, secret, now: now(), brand, nonces });
}

async function storeInTime(settings: Settings, event: PostbackEvent, deadline: Deadline): Promise<Reception> {
	const storing = storeOnce(settings, event);
	const work = () => runWork(settings, event);
	try {
		const result = await deadline.race(storing);
		if (result === "seen") return accepted;
		if (result === "stored") return { ...accepted, finish: work };
	} catch (error) {
		return failFor(settings, error, event);
	}
	// The event may still be stored after the time limit. A repeated request would then be answered as already
	// seen, so the handler must run for this one.
	const workIfStored = async () => {
		try {
			if ((await storing) === "stored") await work();
		} catch (error) {
			reportError(settings, error, event);
		}
	};
	return { ...failFor(settings, tooLate(settings, "Storing"), event), finish: workIfStored };
}

async function storeOnce({ store }: Settings, event: PostbackEvent): Promise<"stored" | "seen"> {
	const result: unknown = await store(event);
	if (result === "stored" || result === "seen") return result;
	throw new TypeError('store must answer "stored" or "seen", so that a repeat is known as one.');
}

async function runWork(settings: Settings, event: PostbackEvent): Promise<void> {
	try {
		await settings.onEvent(event);
	} catch (error) {
		reportError(settings, error, event);
	}
}

const accepted: Reception = { answer: { status: 204, headers: {}, body: "" } };

function statusOf({ reason }: Refusal): number {
	// The request is genuine but cannot be parsed. The answer is not a 401, which would mean a wrong secret,
	// and not a 5xx, because a retry would not help.
	return reason === "malformed_body" ? 400 : 401;
}

function refuseBody(settings: Settings, problem: "too_large" | "incomplete" | "read_before"): Reception {
	switch (problem) {
		case "too_large": {
			const detail = `The body has more than ${settings.maxBodyBytes} bytes.`;
			return refuse(settings, { status: 413, reason: "body_too_large", detail });
		}
		case "incomplete": {
			const detail = "The connection ended before the body did.";
			return refuse(settings, { status: 408, reason: "body_incomplete", detail });
		}
		case "read_before":
			return failFor(settings, new TypeError(readBefore), undefined, 500);
		default:
			return problem satisfies never;
	}
}

const readBefore =
	"The body was read before it came to the receiver, and the bytes that were signed are gone. Put the " +
	"receiver before whatever parses bodies (in Express: before express.json()), or hand it the raw body.";

function describeReceived(
	{ brand }: Settings,
	{ path, headers }: OpenArrival,
	bytes: Uint8Array | string,
): ReceivedRequest {
	const signed: Record<string, string> = {};
	for (const word of ["Event", "Timestamp", "Nonce", "Signature"]) {
		const name = `X-${brand}-${word}`;
		const value = readHeader(headers, name);
		if (value !== undefined) signed[name] = value;
	}
	return { path, headers: signed, body: typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes) };
}

function refuse(settings: Settings, refused: Refused, received?: ReceivedRequest): Reception {
	const { status, reason, detail } = refused;
	reportRefused(settings, { status, reason, detail }, received);
	return explain(status, `${reason}: ${detail}`, status === 405 ? { allow: "POST" } : {});
}

/** Answers with a 5xx, so that the service retries. The reason is only written to the shop's log. */
function failFor(settings: Settings, error: unknown, event?: PostbackEvent, status = 503): Reception {
	reportError(settings, error, event);
	return explain(status, "The callback could not be stored. The log of this server says why.");
}

function explain(status: number, sentence: string, headers: Record<string, string> = {}): Reception {
	const body = `${sentence}\n`;
	return { answer: { status, headers: { ...headers, "content-type": "text/plain; charset=utf-8" }, body } };
}

function tooLate({ answerWithinMs }: Settings, what: string): Error {
	return new Error(`${what} took longer than ${answerWithinMs} ms, so 503 was answered.`);
}
