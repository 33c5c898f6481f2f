// Answers requests of `node:http` and of frameworks built on it, which may already have read the body.

import { announcesTooMuch, boundBody, collectBody } from "./body-collector.ts";
import { type RecordHeaders, readHeader } from "./headers.ts";
import type { OpenArrival, ReadBody, Reception } from "./reception.ts";

/**
 * The part of an `IncomingMessage` that the receiver uses. It is described here, so that the type does not
 * need Node's types.
 */
export type NodeRequest = {
	readonly method?: string | undefined;
	readonly url?: string | undefined;
	readonly headers: RecordHeaders;
	readonly httpVersionMajor?: number;
	readonly readableEnded?: boolean;
	readonly readableDidRead?: boolean;
	on(event: "data" | "end" | "error" | "close", listener: (chunk: Uint8Array) => void): unknown;
	off(event: "data" | "end" | "error" | "close", listener: (chunk: Uint8Array) => void): unknown;
	pause(): unknown;
};

/** The part of a `ServerResponse` that the receiver uses. */
export type NodeResponse = {
	readonly headersSent: boolean;
	readonly writableFinished?: boolean;
	readonly closed?: boolean;
	readonly destroyed?: boolean;
	writeHead(status: number, headers: Record<string, string>): unknown;
	end(body: string): unknown;
	once(event: "finish" | "close", listener: () => void): unknown;
};

/**
 * A request of Express, which has the whole path in `originalUrl`. Its `url` lacks the prefix under which the
 * handler is mounted.
 */
type MountedRequest = { readonly originalUrl?: unknown };
/**
 * A request whose body was already read. express.raw() and cloud functions put the bytes into one of these
 * properties.
 */
type ReadRequest = { readonly rawBody?: unknown; readonly body?: unknown };

export async function answerNode(
	receive: (arrival: OpenArrival) => Promise<Reception>,
	request: NodeRequest & MountedRequest & ReadRequest,
	response: NodeResponse,
): Promise<void> {
	// The listener is added now, because a sender that disconnects closes the response before there is anything
	// to send.
	const goesOut = new Promise<void>((resolve) => {
		response.once("finish", resolve);
		response.once("close", resolve);
	});
	const { method = "", url = "", originalUrl } = request;
	let isReadToEnd = true;
	const { answer, finish } = await receive({
		method,
		path: withoutOrigin(typeof originalUrl === "string" ? originalUrl : url),
		headers: request.headers,
		readBody: async (maxBytes) => {
			isReadToEnd = false;
			const body = await readBody(request, maxBytes);
			isReadToEnd = body.ok;
			return body;
		},
	});
	if (!response.headersSent) {
		// With HTTP/1, an unread rest of the body would be taken for the next request, so the connection must be
		// closed. From HTTP/2 on, every request has its own stream, and the header is forbidden.
		const mustClose = !isReadToEnd && (request.httpVersionMajor ?? 1) < 2;
		const connection: Record<string, string> = mustClose ? { connection: "close" } : {};
		response.writeHead(answer.status, { ...answer.headers, ...connection });
		response.end(answer.body);
	}
	if (finish === undefined) return;
	// If the sender disconnected before this point, it got no answer. It will send the event again and get the
	// answer for an event that is already stored. The handler must therefore run now.
	if (!isOver(response)) await goesOut;
	await finish();
}

// The response may have finished or closed before the listener was added.
function isOver({ writableFinished, closed, destroyed }: NodeResponse): boolean {
	return [writableFinished, closed, destroyed].includes(true);
}

/**
 * Returns path and query of a target. A proxy may send the absolute form (RFC 9112, section 3.2.2), but only
 * path and query are signed.
 */
function withoutOrigin(target: string): string {
	return target.replace(/^https?:\/\/[^/?]*/i, "");
}

async function readBody(request: NodeRequest & ReadRequest, maxBytes: number): Promise<ReadBody> {
	for (const read of [request.rawBody, request.body]) {
		if (typeof read === "string" || isBytes(read)) return boundBody(read, maxBytes);
	}
	if (request.readableEnded === true || request.readableDidRead === true) {
		return { ok: false, problem: "read_before" };
	}
	if (announcesTooMuch(readHeader(request.headers, "content-length"), maxBytes)) {
		return { ok: false, problem: "too_large" };
	}
	return readStream(request, maxBytes);
}

// The body is read with events. `for await` would destroy the socket when the loop ends early, and the 413
// could not be sent.
function readStream(request: NodeRequest, maxBytes: number): Promise<ReadBody> {
	const collector = collectBody(maxBytes);
	return new Promise((resolve) => {
		const stop = (result: ReadBody): void => {
			request.off("data", take);
			request.off("end", finish);
			request.off("close", breakOff);
			resolve(result);
		};
		const take = (chunk: Uint8Array): void => {
			if (collector.add(chunk)) return;
			request.pause();
			stop(collector.result());
		};
		const finish = (): void => stop(collector.result());
		const breakOff = (): void => stop({ ok: false, problem: "incomplete" });
		request.on("data", take);
		request.on("end", finish);
		request.on("close", breakOff);
		// This listener is never removed, because an error after the answer would otherwise end the process.
		request.on("error", breakOff);
	});
}

// `isView` is used, because `instanceof` fails in test runners that give each file its own globals.
function isBytes(value: unknown): value is Uint8Array {
	return ArrayBuffer.isView(value);
}
