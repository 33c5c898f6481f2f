// Answers requests of `node:http` and of the frameworks built on it, which may have read the body before us.

import { announcesTooMuch, boundBody, collectBody } from "./body-collector.ts";
import { type RecordHeaders, readHeader } from "./headers.ts";
import type { OpenArrival, ReadBody, Reception } from "./reception.ts";

/** What is used of an `IncomingMessage`. Described by itself, so that the type does not need Node's. */
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

/** What is used of a `ServerResponse`. */
export type NodeResponse = {
	readonly headersSent: boolean;
	readonly writableFinished?: boolean;
	readonly closed?: boolean;
	readonly destroyed?: boolean;
	writeHead(status: number, headers: Record<string, string>): unknown;
	end(body: string): unknown;
	once(event: "finish" | "close", listener: () => void): unknown;
};

/** Express gives the whole path under this name, and what it mounted a handler below is cut off `url`. */
type MountedRequest = { readonly originalUrl?: unknown };
/** express.raw() and cloud functions leave the bytes under one of these names. */
type ReadRequest = { readonly rawBody?: unknown; readonly body?: unknown };

export async function answerNode(
	receive: (arrival: OpenArrival) => Promise<Reception>,
	request: NodeRequest & MountedRequest & ReadRequest,
	response: NodeResponse,
): Promise<void> {
	// Asked for now: a sender that hangs up meanwhile closes it before there is anything to send.
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
		// What is left of the body would be taken for the next request's beginning, or read for nothing. From HTTP/2
		// on every request has a stream of its own, and the header is forbidden.
		const mustClose = !isReadToEnd && (request.httpVersionMajor ?? 1) < 2;
		const connection: Record<string, string> = mustClose ? { connection: "close" } : {};
		response.writeHead(answer.status, { ...answer.headers, ...connection });
		response.end(answer.body);
	}
	if (finish === undefined) return;
	// A sender that hung up before this began was told nothing. It will repeat the event and be told that it is
	// stored, so that nobody but us would ever do the work.
	if (!isOver(response)) await goesOut;
	await finish();
}

// Both events may have passed before anybody here listened.
function isOver({ writableFinished, closed, destroyed }: NodeResponse): boolean {
	return [writableFinished, closed, destroyed].includes(true);
}

/** A proxy may send the absolute form (RFC 9112, section 3.2.2); what is signed is path and query alone. */
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

// By events and not by `for await`, which destroys the socket when it is left early: the 413 could not be sent.
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
		// Stays on: an error after the answer would otherwise end the process.
		request.on("error", breakOff);
	});
}

// `isView` and not `instanceof`: that breaks in test runners that give each file its own globals.
function isBytes(value: unknown): value is Uint8Array {
	return ArrayBuffer.isView(value);
}
