// As much of HTTP/1.1 as the service's own requests need: a head, a content-length, a body.

import type { Socket } from "node:net";

export interface RawRequest {
	method: string;
	path: string;
	/** Names and values in turn, in the sender's spelling. */
	rawHeaders: readonly string[];
	body: Buffer;
}

const HEAD_END = "\r\n\r\n";

/** Calls `take` for every whole request that comes in on the connection. */
export function readRequests(socket: Socket, take: (request: RawRequest) => void): void {
	let unread = Buffer.alloc(0);
	socket.on("data", (chunk: Buffer) => {
		unread = Buffer.concat([unread, chunk]);
		for (let found = cutRequest(unread); found !== undefined; found = cutRequest(unread)) {
			unread = found.rest;
			take(found.request);
		}
	});
}

function cutRequest(bytes: Buffer): { request: RawRequest; rest: Buffer<ArrayBuffer> } | undefined {
	const headEnd = bytes.indexOf(HEAD_END);
	if (headEnd === -1) return undefined;
	const [first = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
	const rawHeaders = lines.flatMap((line) => [
		line.slice(0, line.indexOf(":")),
		line.slice(line.indexOf(":") + 1).trim(),
	]);
	const lengthAt = rawHeaders.findIndex((name) => name.toLowerCase() === "content-length");
	const bodyStart = headEnd + HEAD_END.length;
	const bodyEnd = bodyStart + Number(rawHeaders[lengthAt + 1] ?? 0);
	if (bytes.length < bodyEnd) return undefined;
	const [method = "", path = ""] = first.split(" ");
	const body = Buffer.from(bytes.subarray(bodyStart, bodyEnd));
	return { request: { method, path, rawHeaders, body }, rest: Buffer.from(bytes.subarray(bodyEnd)) };
}
