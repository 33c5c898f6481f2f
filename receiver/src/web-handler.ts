// Answers web-standard requests of Deno, Bun, edge runtimes and frameworks that pass them on.

import { announcesTooMuch, collectBody } from "./body-collector.ts";
import { readHeader, type WebHeaders } from "./headers.ts";
import type { OpenArrival, ReadBody, Reception } from "./reception.ts";
import { superviseCall } from "./report.ts";

/**
 * The part of a `Request` that is used, described here so that the type needs neither the DOM's nor Node's
 * types.
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

/** The runtime's own `Response`, as typed by whichever type library the program uses. */
export type WebResponse = typeof globalThis extends { Response: { prototype: infer Instance } }
	? Instance
	: { readonly status: number };

/** The context that edge runtimes pass to a handler. Any other value is ignored. */
export type WebContext = { waitUntil?(promise: Promise<unknown>): unknown } | null | undefined;

// A runtime writes the answer several event-loop rounds after it got the Response, and does not say when.
// Work that blocks the thread must not come in between, and ten milliseconds are many rounds.
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
		// Called on its own object, because an edge runtime refuses it otherwise. The event is already stored, so
		// it is acknowledged and processed whatever the runtime says.
		superviseCall(() => {
			if (typeof context?.waitUntil === "function") return context.waitUntil(finished);
		}, onFailure);
	}
	const { status, headers, body } = answer;
	return new Response(body === "" ? null : body, { status, headers });
}

// The URL is cut and not parsed, because URL treats an empty query as none, although it is signed.
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
		// The stream broke off. The error differs by runtime, but there is only one possible answer.
		return { ok: false, problem: "incomplete" };
	}
}
