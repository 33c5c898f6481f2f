// The raw bytes of a request, and never more of them than the limit: the signature is over these bytes, so
// they are read before anybody is known.

import { type Result, refuse, succeed } from "../domain/fault.ts";

/** The largest sensible report is under 1 KiB; this leaves room and still costs an unknown caller's flood little. */
export const MAX_BODY_BYTES = 64 * 1024;

export async function readBody(request: Request): Promise<Result<Uint8Array>> {
	// RFC 9110: a body sent with GET has no meaning. The adapter does not hand it on either.
	if (request.method === "GET") return succeed(new Uint8Array());
	const declaredBytes = Number(request.headers.get("content-length") ?? Number.NaN);
	if (declaredBytes > MAX_BODY_BYTES) return tooLarge();
	try {
		// The HTTP parser hands on no more bytes than were declared. Without a declaration they must be counted,
		// which is slower: the adapter then builds a web stream.
		const bytes = Number.isNaN(declaredBytes)
			? await readCounted(request.body)
			: new Uint8Array(await request.arrayBuffer());
		return bytes === undefined || bytes.length > MAX_BODY_BYTES ? tooLarge() : succeed(bytes);
	} catch {
		// Nothing but the caller's connection can fail here, so it is told to the inbound log and not to ours.
		return refuse("malformed_json", "The body broke off before its end. Send the request again.");
	}
}

async function readCounted(stream: Request["body"]): Promise<Uint8Array | undefined> {
	if (stream === null) return new Uint8Array();
	const chunks: Uint8Array[] = [];
	let count = 0;
	// Leaving the loop cancels the stream: the rest is not read.
	for await (const chunk of stream) {
		count += chunk.length;
		if (count > MAX_BODY_BYTES) return undefined;
		chunks.push(chunk);
	}
	return Buffer.concat(chunks, count);
}

function tooLarge(): ReturnType<typeof refuse> {
	return refuse(
		"body_too_large",
		`The body may have at most ${MAX_BODY_BYTES} bytes. Send one report per request, with its fields alone.`,
	);
}
