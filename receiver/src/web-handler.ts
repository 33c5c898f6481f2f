// Answers web-standard requests of Deno, Bun, edge runtimes and frameworks that use them.

import { announcesTooMuch, collectBody } from "./body-collector.ts";
import { readHeader, type WebHeaders } from "./headers.ts";
import type { OpenArrival, ReadBody, Reception } from "./reception.ts";
import { superviseCall } from "./report.ts";

/**
 * The part of a `Request` that the receiver uses. It is described here, so that the type needs neither the
 * DOM's nor Node's types.
 */
export type WebRequest = {
	readonly method: string;
	readonly url: string;
	readonly headers: WebHeaders;
	readonly body: WebBody | null;
	readonly bodyUsed: boolean;
};

type WebBody = {
	getReader(): {
		read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
		cancel(): Promise<unknown>;
	};
};

/** The runtime's own `Response`, from whichever type library the program uses. */
export type WebResponse = typeof globalThis extends { Response: { prototype: infer Instance } }
	? Instance
	: { readonly status: number };

/** The context that edge runtimes pass to a handler. Values of another type are ignored. */
export type WebContext = { waitUntil?(promise: Promise<unknown>): unknown } | null | undefined;

// A runtime writes the answer several rounds of the event loop after it got the Response, and does not say
// when. A handler that blocks the thread must not run before that. Ten milliseconds are many rounds.
const workAfterMs = 10;

export async function answerWeb(
	receive: (arrival: OpenArrival) => Promise<Reception>,
	request: WebRequest,
	context: WebContext,
	onFailure: (error: unknown) => void,
): Promise<WebResponse> {
	const { answer, finish } = await receive({
		method: request.method,
		path: targetOf(request.url),
		headers: request.headers,
		readBody: (maxBytes) => readBody(request, maxBytes),
	});
	if (finish !== undefined) {
		const finished = new Promise((resolve) => setTimeout(resolve, workAfterMs)).then(finish);
		// `waitUntil` is called on its own object, because an edge runtime refuses it otherwise. The event is
		// already stored, so it is acknowledged and handled even if this call fails.
		superviseCall(() => {
			if (typeof context?.waitUntil === "function") return context.waitUntil(finished);
		}, onFailure);
	}
	const { status, headers, body } = answer;
	return new Response(body === "" ? null : body, { status, headers });
}

// The URL is cut and not parsed, because the URL class drops the question mark of an empty query, although it
// is signed.
function targetOf(url: string): string {
	const [, target = ""] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^#]*)/i.exec(url) ?? [undefined, url];
	return target.startsWith("/") ? target : `/${target}`;
}

async function readBody(request: WebRequest, maxBytes: number): Promise<ReadBody> {
	if (request.bodyUsed) return { ok: false, problem: "read_before" };
	const collector = collectBody(maxBytes);
	if (request.body === null) return collector.result();
	const reader = request.body.getReader();
	try {
		if (announcesTooMuch(readHeader(request.headers, "content-length"), maxBytes)) {
			await reader.cancel();
			return { ok: false, problem: "too_large" };
		}
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return collector.result();
			if (value !== undefined && !collector.add(value)) {
				await reader.cancel();
				return collector.result();
			}
		}
	} catch {
		// The stream broke off. Each runtime has a different error for it, but the answer is the same.
		return { ok: false, problem: "incomplete" };
	}
}
