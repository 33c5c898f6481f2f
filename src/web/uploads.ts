// The guard of forms that bring a file. Who may send one is known before it is read; it is streamed to a disk, a few
// at a time, and gone when the request has been answered.

import type { Next } from "hono";
import { fault, type Result, succeed } from "../domain/fault.ts";
import type { TemporaryFiles } from "../ports.ts";
import type { WebDeps } from "./deps.ts";
import type { Upload, WebContext } from "./env.ts";
import { answerError } from "./error-page.ts";
import { createPlaces, type PlaceLimits } from "./places.ts";
import { MAX_UPLOAD_BYTES, type Receipt, receiveFile, tooLarge } from "./receive-file.ts";
import { viewerOf } from "./viewer.ts";

const UPLOAD_PATH = /^\/programmes\/[^/]+\/conversions\/bulk$/;

/**
 * A person has one under way, and one that was started over. In all: each holds less than a megabyte, but to read
 * 40,000 rows takes the processor a second or two. One that stalls loses its place with its connection, after
 * 15 seconds (outside/http-server).
 */
export const UPLOAD_LIMITS: PlaceLimits = { aPerson: 2, inAll: 8 };

/**
 * Of what is refused, so much is read and thrown away before the answer: a browser that is still sending would show
 * that the connection broke, and not what is wrong.
 */
const MAX_DISCARDED_BYTES = 64 * 1_024 * 1_024;

/** Everything else is an ordinary form, with the bounds of one. */
export function isUpload(c: WebContext): boolean {
	const isMultipart = /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
	return c.req.method === "POST" && c.get("viewer") !== null && isMultipart && UPLOAD_PATH.test(c.req.path);
}

/** Behind the sign-in and the right to the programme. Hands the file on as `upload`, or why there is none. */
export function createUploadGuard({ temporaryFiles }: Pick<WebDeps, "temporaryFiles">): UploadGuard {
	const places = createPlaces(UPLOAD_LIMITS);
	return async (c, next) => {
		const body = readBody(c);
		const giveBack = places.take(viewerOf(c).personId);
		let receipt: Receipt | undefined;
		try {
			receipt = giveBack === undefined ? tooMany() : await receive(c, body, temporaryFiles);
			if (receipt.kind !== "file") {
				giveBack?.();
				await discard(body);
			}
			if (receipt.kind === "foreign") return await answerError(c, receipt.code);
			c.set("upload", toUpload(receipt));
			await next();
			return undefined;
		} finally {
			if (receipt?.kind === "file") await receipt.file.remove();
			giveBack?.();
		}
	};
}

type UploadGuard = (c: WebContext, next: Next) => Promise<Response | undefined>;

function receive(c: WebContext, body: Body, files: TemporaryFiles): Promise<Receipt> | Receipt {
	// Refused by what it says of itself, where it says so: nothing is parsed then.
	if (Number(c.req.header("content-length") ?? 0) > MAX_UPLOAD_BYTES) return tooLarge();
	const type = c.req.header("content-type") ?? "";
	return receiveFile(body, { type, files, isOwn: (token) => c.get("formGuard").isOwn(c, token) });
}

function toUpload(receipt: Exclude<Receipt, { kind: "foreign" }>): Result<Upload | null> {
	switch (receipt.kind) {
		case "file":
			return succeed({ name: receipt.name, read: () => receipt.file.read() });
		case "none":
			return succeed(null);
		case "refused":
			return { ok: false, fault: receipt.fault };
		default:
			return receipt satisfies never;
	}
}

function tooMany(): Receipt {
	const { aPerson, inAll } = UPLOAD_LIMITS;
	const detail = `Too many files are being uploaded at once: ${aPerson} by one person, or ${inAll} in all. Wait a few seconds, then upload this one again.`;
	return { kind: "refused", fault: fault("too_many_uploads", detail, "file") };
}

type Body = AsyncIterator<Uint8Array>;

/** To be left wherever it is: whoever stops reading must not break the connection that the answer goes over. */
function readBody(c: WebContext): Body {
	const empty = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
	return (c.req.raw.body ?? empty).values({ preventCancel: true });
}

async function discard(body: Body): Promise<void> {
	try {
		for (let bytes = 0; bytes < MAX_DISCARDED_BYTES; ) {
			const { done, value } = await body.next();
			if (done === true) return;
			bytes += value.length;
		}
	} catch {
		// Whoever has hung up waits for no answer.
	}
}
