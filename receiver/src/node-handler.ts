// Answers requests of `node:http` and of frameworks built on it, which may have read the body already.

import { announcesTooMuch, boundBody, collectBody } from "./body-collector.ts";
import { type RecordHeaders, readHeader } from "./headers.ts";
import type { OpenArrival, ReadBody, Reception } from "./reception.ts";

/** The part of an `IncomingMessage` that is used, described here so that the type does not need Node's. */
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

/** The part of a `ServerResponse` that is used. */
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
 * Express keeps the whole path under this name, while `url` lacks the part below which the handler is
 * mounted.
 */
type MountedRequest = { readonly originalUrl?: unknown };
/** express.raw() and cloud functions leave the bytes under one of these names. */
type ReadRequest = { readonly rawBody?: unknown; readonly body?: unknown };

export async function answerNode(
	receive: (arrival: OpenArrival) => Promise<Reception>,
	request: NodeRequest & MountedRequest & ReadRequest,
	response: NodeResponse,
): Promise<void> {
	// Listens now, because a sender that disconnects closes the response before there is anything to send.
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
		// The rest of the body would be taken for the next request, or read for nothing. From HTTP/2 on every
		// request has its own stream, and the header is forbidden.
		const mustClose = !isReadToEnd && (request.httpVersionMajor ?? 1) < 2;
		const connection: Record<string, string> = mustClose ? { connection: "close" } : {};
		response.writeHead(answer.status, { ...answer.headers, ...connection });
		response.end(answer.body);
	}
	if (finish === undefined) return;
	// A sender that disconnected before this point got no answer. It will repeat the event and be told that it
	// is stored, so the work must be done here.
	if (!isOver(response)) await goesOut;
	await finish();
}

// Both events may have happened before anybody listened.
function isOver({ writableFinished, closed, destroyed }: NodeResponse): boolean {
	return [writableFinished, closed, destroyed].includes(true);
}

/** A proxy may send the absolute form (RFC 9112, section 3.2.2), but only path and query are signed. */
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

// Uses events instead of `for await`, which destroys the socket when it is left early, so that the 413 could
// not be sent.
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
		// This listener stays, because an error after the answer would otherwise end the process.
		request.on("error", breakOff);
	});
}

// Uses `isView` instead of `instanceof`, which fails in test runners that give each file its own globals.
function isBytes(value: unknown): value is Uint8Array {
	return ArrayBuffer.isView(value);
}
