// Answers web-standard requests: Deno, Bun, edge runtimes, and the frameworks that hand them on.

import { announcesTooMuch, collectBody } from "./body-collector.ts";
import { readHeader, type WebHeaders } from "./headers.ts";
import type { OpenArrival, ReadBody, Reception } from "./reception.ts";
import { superviseCall } from "./report.ts";

/** What is used of a `Request`. Described by itself, so that the type needs neither the DOM's nor Node's. */
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

/** This runtime's own `Response`, by whichever types the program has for it. */
export type WebResponse = typeof globalThis extends { Response: { prototype: infer Instance } }
	? Instance
	: { readonly status: number };

/** As edge runtimes hand it to a handler. Whatever else stands in its place is passed over. */
export type WebContext = { waitUntil?(promise: Promise<unknown>): unknown } | null | undefined;

// A runtime writes the answer some event-loop rounds after it was given the Response, and says nothing when it has.
// Work that holds the thread must not get in between; ten milliseconds are many rounds.
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
		// Called on its own object: an edge runtime refuses it otherwise. The event is stored already: whatever the
		// runtime says, it is answered and worked on.
		superviseCall(() => {
			if (typeof context?.waitUntil === "function") return context.waitUntil(finished);
		}, onFailure);
	}
	const { status, headers, body } = answer;
	return new Response(body === "" ? null : body, { status, headers });
}

// Cut and not parsed: URL would take an empty query for none, and it is signed.
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
		// The stream broke off. What it says differs by runtime, and there is only one thing to answer.
		return { ok: false, problem: "incomplete" };
	}
}
