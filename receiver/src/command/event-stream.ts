// Opens one connection to the service's event stream, signed like every call. It returns how the connection
// ended, and the caller decides what to do.

import { readText } from "../client/exchange.ts";
import { isObject, parseJson } from "../json.ts";
import { findErrorCode } from "../network-error.ts";
import { signRequest } from "../sign-request.ts";
import type { Settings } from "./settings.ts";
import { createMessageReader, type StreamMessage } from "./stream-message.ts";

export type Connection =
	| { readonly kind: "open"; readonly messages: AsyncIterable<StreamMessage> }
	/** The service refused the connection, with a code and a sentence. */
	| { readonly kind: "refused"; readonly status: number; readonly code: string; readonly detail: string }
	/** The answer did not come from the service, so another program uses this address. */
	| { readonly kind: "unexpected"; readonly status: number; readonly detail: string }
	| { readonly kind: "unreachable"; readonly detail: string };

export type StreamRequest = { readonly after: string | undefined; readonly testOnly: boolean };

/**
 * Time limit for the answer. The service answers within milliseconds, so after this time something on the way
 * hangs.
 */
const answerTimeoutMs = 10_000;
/**
 * Time without a byte after which a connection counts as dead, whatever the system reports. It is the time of
 * three heartbeats.
 */
const silenceTimeoutMs = 45_000;
const maxProblemBytes = 65_536;

export async function openStream(
	{ url, apiKey, secret, brand }: Settings,
	{ after, testOnly }: StreamRequest,
	stopSignal: AbortSignal,
): Promise<Connection> {
	const query = new URLSearchParams();
	if (after !== undefined) query.set("after", after);
	if (testOnly) query.set("test", "true");
	const path = `/v1/events?${query}`.replace(/\?$/, "");
	const hangUp = new AbortController();
	const stop = () => hangUp.abort();
	const stopListening = () => stopSignal.removeEventListener("abort", stop);
	if (stopSignal.aborted) stop();
	stopSignal.addEventListener("abort", stop, { once: true });
	const { headers } = await signRequest({ method: "GET", path, secret, apiKey, brand });
	const timer = setTimeout(stop, answerTimeoutMs);
	try {
		const response = await fetch(url + path, {
			headers: { ...headers, Accept: "text/event-stream" },
			// A redirect is not followed, because it would send the API key to another address.
			redirect: "manual",
			signal: hangUp.signal,
		});
		const isStream = /^text\/event-stream\b/.test(response.headers.get("content-type") ?? "");
		if (response.status === 200 && isStream && response.body !== null) {
			return { kind: "open", messages: readMessages(response.body, hangUp, stopListening) };
		}
		// The refusal is read with the same timeout and stop signal, because its body may never end.
		const refusal = await readRefusal(response, hangUp.signal);
		stopListening();
		return refusal;
	} catch (error) {
		stopListening();
		return { kind: "unreachable", detail: describeNetworkError(error) };
	} finally {
		clearTimeout(timer);
	}
}

async function* readMessages(
	body: ReadableStream<Uint8Array>,
	hangUp: AbortController,
	cleanUp: () => void,
): AsyncGenerator<StreamMessage, void> {
	const read = createMessageReader();
	const reader = body.getReader();
	try {
		for (;;) {
			const timer = setTimeout(() => hangUp.abort(), silenceTimeoutMs);
			const { done, value } = await reader.read().finally(() => clearTimeout(timer));
			if (done) return;
			yield* read(value);
		}
	} catch {
		// A broken connection ends the stream in the same way as a closed one, because the caller reconnects in
		// both cases.
		return;
	} finally {
		cleanUp();
		hangUp.abort();
	}
}

async function readRefusal(response: Response, signal: AbortSignal): Promise<Connection> {
	const { status, headers } = response;
	// If the body breaks off, status and content type still show which program answered.
	const text = await readText(response.body, maxProblemBytes, signal).catch(() => undefined);
	if (status >= 300 && status < 400) {
		const location = headers.get("location") ?? "another address";
		return { kind: "unexpected", status, detail: `it redirects to ${location}` };
	}
	const problem = parseJson(text ?? "");
	const { code, detail } = isObject(problem) ? problem : {};
	if (typeof code === "string" && typeof detail === "string")
		return { kind: "refused", status, code, detail };
	const type = headers.get("content-type") ?? "no content type";
	return { kind: "unexpected", status, detail: `it answers HTTP ${status} with ${type}` };
}

function describeNetworkError(error: unknown): string {
	const code = findErrorCode(error);
	if (code !== undefined) return code;
	return error instanceof Error && error.name === "AbortError" ? "no answer in 10 seconds" : "no connection";
}
