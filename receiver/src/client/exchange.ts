// Sends one request and reads its answer, with a timeout and a size limit. It returns what happened, and
// other code decides what it means.

import { findErrorCode } from "../network-error.ts";

export type Fetch = typeof globalThis.fetch;

export type OutgoingRequest = {
	readonly url: string;
	readonly method: "GET" | "POST";
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string | undefined;
};

export type Exchange =
	| {
			readonly kind: "answer";
			readonly status: number;
			readonly headers: { get(name: string): string | null };
			/** Body of the answer, or undefined if it is larger than the limit. */
			readonly text: string | undefined;
	  }
	| { readonly kind: "redirect"; readonly status: number; readonly location: string | null }
	| { readonly kind: "no_answer"; readonly detail: string }
	| { readonly kind: "aborted" };

/**
 * Maximum size of an answer. A page of 200 conversions with the longest order ids has less than 300 KB, and
 * the answer to a batch of 500 items has less than 700 KB.
 */
const maxAnswerBytes = 1_048_576;

export async function exchange(
	fetch: Fetch,
	request: OutgoingRequest,
	timeoutMs: number,
	signal: AbortSignal | undefined,
): Promise<Exchange> {
	if (signal?.aborted) return { kind: "aborted" };
	const controller = new AbortController();
	const abort = () => controller.abort();
	// The time limit is enforced here as well, because a fetch function of the shop may ignore its signal.
	const ended = new Promise<never>((_resolve, reject) => {
		controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true });
	});
	const timer = setTimeout(abort, timeoutMs);
	signal?.addEventListener("abort", abort, { once: true });
	try {
		return await Promise.race([send(fetch, request, controller.signal), ended]);
	} catch (error) {
		if (signal?.aborted) return { kind: "aborted" };
		if (controller.signal.aborted) return { kind: "no_answer", detail: `no answer within ${timeoutMs} ms` };
		return { kind: "no_answer", detail: describeFailure(error) };
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", abort);
	}
}

async function send(fetch: Fetch, request: OutgoingRequest, signal: AbortSignal): Promise<Exchange> {
	const { url, method, headers, body } = request;
	const response = await fetch(url, {
		method,
		headers: { ...headers, Accept: "application/json" },
		// A redirect is not followed, because it would send the API key to another address, with a signature for
		// this path.
		redirect: "manual",
		signal,
		...(body === undefined ? {} : { body }),
	});
	return readResponse(response, signal);
}

async function readResponse(response: Response, signal: AbortSignal): Promise<Exchange> {
	const { status, headers } = response;
	// The fetch standard hides the status and the location of a redirect that is not followed. Server runtimes
	// show both.
	if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
		await response.body?.cancel();
		return { kind: "redirect", status, location: headers.get("location") };
	}
	return { kind: "answer", status, headers, text: await readText(response.body, maxAnswerBytes, signal) };
}

/** Reads the body as text. Returns undefined if it is larger than `maxBytes`. */
export async function readText(
	body: Response["body"],
	maxBytes: number,
	signal: AbortSignal,
): Promise<string | undefined> {
	if (body === null) return "";
	const reader = body.getReader();
	// The body is cancelled, because an unread body would keep its connection open. A failure to cancel has no
	// effect.
	const giveUp = () => void reader.cancel().catch(() => undefined);
	if (signal.aborted) giveUp();
	else signal.addEventListener("abort", giveUp, { once: true });
	const decoder = new TextDecoder();
	let text = "";
	let bytes = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return text + decoder.decode();
		bytes += value.byteLength;
		if (bytes > maxBytes) {
			await reader.cancel();
			return undefined;
		}
		text += decoder.decode(value, { stream: true });
	}
}

function describeFailure(error: unknown): string {
	const code = findErrorCode(error);
	return code === undefined ? "the connection failed" : `the connection failed (${code})`;
}
