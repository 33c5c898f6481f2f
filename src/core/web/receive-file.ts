// Receives the file of a multipart form. The file is written to disk while it arrives, so that only a piece of it is
// in memory. Only a few files are received at the same time, and each is removed after its request was answered. The
// sender's rights are checked before the body is read.

import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import busboy from "busboy";
import type { Next } from "hono";
import { type AdmissionClass, CLASSES } from "../../concurrency/admission.ts";
import { MEGABYTE } from "../domain/bytes.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { TemporaryFile, TemporaryFiles } from "../ports.ts";
import { answerError } from "./error-page.ts";
import { type Upload, viewerOf, type WebContext, type WebDeps } from "./page.ts";

/** Limits of an uploaded file. */
export interface FileBounds {
	megabytes: number;
	/** Admission class, which limits how many such files are uploaded at the same time. */
	admissionClass: Extract<AdmissionClass, `${string}Uploads`>;
	/** Sentence that tells the person what to do if the file is too large. */
	advice: string;
}

/** Limits of a file with decisions. The limit has room for 40,000 decisions with long order ids and reasons. */
export const SMALL_FILES: FileBounds = {
	megabytes: 10,
	admissionClass: "decisionUploads",
	advice: "Split it into parts.",
};

/** Limits of a logo. */
export const PICTURES: FileBounds = {
	megabytes: 0.25,
	admissionClass: "pictureUploads",
	advice: "Choose a smaller picture.",
};

/**
 * Limits of a file to import. The limit has room for half a million conversions. With 30 Mbit/s such a file arrives
 * within the 15 seconds that a request may take.
 */
export const IMPORT_FILES: FileBounds = {
	megabytes: 50,
	admissionClass: "importUploads",
	advice:
		"Split it into parts, or import it from a shell. The command ringback import takes 10 million lines.",
};

/** Maximum size of the form without its file. Most of this is for the headers of its parts. */
const MAX_FRAME_BYTES = 64 * 1_024;
/**
 * Limits for the parser. They are far above the needs of our forms, which have one file and three headers for
 * each part.
 */
const LIMITS = { files: 1, fields: 1_000, parts: 1_000, fieldSize: 1_024, headerPairs: 20 } as const;

/**
 * Maximum number of bytes of a refused form that are read and discarded. Without this, a browser that is
 * still sending would report a broken connection instead of the reason. If too many files are uploaded at
 * once, the connection is closed instead.
 */
const MAX_DISCARDED_BYTES = 64 * MEGABYTE;

export function maxFileBytes({ megabytes }: FileBounds): number {
	return megabytes * MEGABYTE;
}

export function sayTooLarge({ megabytes, advice }: FileBounds): string {
	const most = megabytes < 1 ? `${megabytes * 1_024} KB` : `${megabytes} MB`;
	return `The file is larger than ${most}. ${advice}`;
}

/**
 * Returns true if the request is a form with a file. All other requests have the limits of an ordinary form.
 */
export function isUpload(c: WebContext): boolean {
	return c.req.method === "POST" && /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
}

/** Returns the uploaded file of a form that requires one. `ifNone` is the message if no file was chosen. */
export function uploadOf(c: WebContext, ifNone: string): Result<Upload> {
	const upload = c.get("upload") ?? succeed(null);
	if (!upload.ok) return upload;
	return upload.value === null ? refuse("invalid_field", ifNone, "file") : succeed(upload.value);
}

export type UploadDeps = Pick<WebDeps, "temporaryFiles" | "admission">;
export type UploadGuard = (c: WebContext, next: Next) => Promise<Response | undefined>;

/**
 * Returns the guard that receives the file. It runs after the session and the right were checked, and stores
 * the file, or the reason for a refusal, in the context as `upload`.
 */
export function createUploadGuard(
	{ temporaryFiles, admission }: UploadDeps,
	bounds: FileBounds,
): UploadGuard {
	return async (c, next) => {
		const { personId } = viewerOf(c);
		const body = openBody(c);
		// If the Content-Length header already exceeds the limit, nothing is parsed.
		const isTooLarge = Number(c.req.header("content-length") ?? 0) > maxFileBytes(bounds) + MAX_FRAME_BYTES;
		const leave = await admission.admit(bounds.admissionClass, personId);
		let received: Received = { upload: leave === undefined ? tooMany(bounds) : tooLarge(bounds) };
		try {
			if (leave === undefined) c.header("connection", "close");
			else {
				// An upload may take longer than other requests, because connections may be slow and the number of
				// uploads is limited here.
				c.env?.outgoing?.emit("takesLong");
				if (!isTooLarge) received = await receiveFile(c, body, temporaryFiles, bounds);
				if (received.file === undefined) await discard(body);
			}
			if (received.foreign !== undefined) return await answerError(c, received.foreign);
			c.set("upload", received.upload);
			if (received.file === undefined) await next();
			else await workOnFile(admission, bounds, next);
			return undefined;
		} finally {
			await received.file?.remove();
			leave?.();
		}
	};
}

interface Received {
	/** Result for the page: the file, null if no file was chosen, or the fault with which the file was refused. */
	upload?: Result<Upload | null>;
	/** Temporary file, which must be removed after the request was answered. */
	file?: TemporaryFile;
	/** Fault of a request that no form of ours could have sent. */
	foreign?: "form_not_valid" | "invalid_field" | "body_too_large";
}

interface StoredFile {
	name: string;
	bytes: number;
	file: TemporaryFile;
}

/** State of a form while it is being received. */
interface Reception {
	bounds: FileBounds;
	/** Reason for a refusal. The reason is stored and not thrown, because busboy reports it in the middle of a write. */
	refusal?: Received;
	stored?: StoredFile;
	/** Error of our own disk. The sender causes all other errors. */
	diskError?: { error: unknown };
	/** Promise that resolves when the whole file is written. */
	storing: Promise<void>;
}

const MAX_NAME_CHARACTERS = 120;

/**
 * Receives the file. The function reads only as much of the body as it needs to accept or refuse the form, and the
 * caller discards the rest. If it returns no file, it has removed the part that was stored.
 */
async function receiveFile(
	c: WebContext,
	body: Body,
	files: TemporaryFiles,
	bounds: FileBounds,
): Promise<Received> {
	const parser = openParser(c.req.header("content-type") ?? "", bounds);
	if (parser === undefined) return { foreign: "form_not_valid" };
	const reception: Reception = { bounds, storing: Promise.resolve() };
	watchParser(parser, reception, files);
	// If the form cannot be parsed, or if the client disconnects, the form is incomplete.
	const isComplete = await pipeline(readWithinBounds(body, reception), parser).then(
		() => true,
		() => false,
	);
	await reception.storing;
	const { refusal, stored, diskError } = reception;
	if (diskError === undefined && refusal === undefined && isComplete) {
		if (stored === undefined) return { upload: succeed(null) };
		const { name, bytes, file } = stored;
		// Control characters are removed, because databases refuse to store some of them.
		const shownName = name
			.slice(0, MAX_NAME_CHARACTERS)
			.toWellFormed()
			.replace(/\p{Cc}/gu, "");
		return { upload: succeed({ name: shownName, bytes, read: () => file.read() }), file };
	}
	await stored?.file.remove();
	if (diskError !== undefined) throw diskError.error;
	// The form was cut off, or its file name has characters that are not allowed.
	return refusal ?? { foreign: "invalid_field" };
}

/** Starts storing the file when the parser finds it, and records a refusal if a limit is exceeded. */
function watchParser(parser: busboy.Busboy, reception: Reception, files: TemporaryFiles): void {
	// The pipeline already reports this error. Without a listener here, Node would end the process.
	parser.on("error", ignore);
	parser.on("file", (field, stream, { filename }) => {
		stream.on("error", ignore);
		if (reception.refusal !== undefined || field !== "file" || !filename) {
			stream.resume();
			return;
		}
		stream.once("limit", () => noteRefusal(reception, { upload: tooLarge(reception.bounds) }));
		reception.storing = storeFile(stream, filename, reception, files).catch((error: unknown) => {
			reception.diskError = { error };
			parser.destroy();
		});
	});
	for (const limit of ["partsLimit", "fieldsLimit", "filesLimit"] as const) {
		parser.on(limit, () => noteRefusal(reception, { foreign: "body_too_large" }));
	}
}

/** Records a refusal. The first of several refusals counts. */
function noteRefusal(reception: Reception, refusal: Received): void {
	reception.refusal ??= refusal;
}

async function storeFile(
	stream: Readable,
	name: string,
	reception: Reception,
	files: TemporaryFiles,
): Promise<void> {
	const stored: StoredFile = { name, bytes: 0, file: await files.create() };
	reception.stored = stored;
	for await (const piece of piecesOf(stream)) {
		await stored.file.append(piece);
		stored.bytes += piece.length;
	}
}

/** Yields the chunks of the body until the body ends, the form is refused, or the form exceeds its maximum size. */
async function* readWithinBounds(body: Body, reception: Reception): AsyncGenerator<Uint8Array> {
	for (let bytes = 0; reception.refusal === undefined; ) {
		const { done, value } = await body.next();
		if (done === true) return;
		bytes += value.length;
		if (bytes > maxFileBytes(reception.bounds) + MAX_FRAME_BYTES) {
			noteRefusal(reception, { upload: tooLarge(reception.bounds) });
		} else {
			yield value;
		}
	}
}

const ignore = () => undefined;

/** Creates the parser. Returns undefined if the content type names no boundary. */
function openParser(type: string, bounds: FileBounds): busboy.Busboy | undefined {
	// The limit is one byte more than the maximum, because busboy already reports a file that exactly reaches its limit.
	const limits = { ...LIMITS, fileSize: maxFileBytes(bounds) + 1 };
	try {
		return busboy({ headers: { "content-type": type }, defParamCharset: "utf8", limits });
	} catch {
		return undefined;
	}
}

async function* piecesOf(stream: Readable): AsyncGenerator<Uint8Array> {
	try {
		for await (const piece of stream) if (piece instanceof Uint8Array) yield piece;
	} catch {
		// The form was cut off. The pipeline reports this error as well, so it is ignored here.
	}
}

function tooLarge(bounds: FileBounds): Result<never> {
	return refuse("body_too_large", sayTooLarge(bounds), "file");
}

function tooMany({ admissionClass }: FileBounds): Result<never> {
	const { atOnce, atOncePerClient } = CLASSES[admissionClass];
	const detail = `Too many files are being uploaded at once: ${atOncePerClient} by one person, or ${atOnce} in all. Wait a few seconds, then upload this one again.`;
	return refuse("too_many_uploads", detail, "file");
}

/** Calls the page, which reads the file. Pages with files of the same admission class run one after the other. */
async function workOnFile(
	admission: UploadDeps["admission"],
	{ admissionClass }: FileBounds,
	next: Next,
): Promise<void> {
	const leave = await admission.admit("uploadedFiles", admissionClass);
	try {
		await next();
	} finally {
		leave?.();
	}
}

type Body = AsyncIterator<Uint8Array>;

/**
 * Returns a reader of the request's body. It reads from the socket, because the stream of the request would
 * copy the data. The body is opened at the first read. It is never closed, because closing it would break the
 * connection before the response is sent.
 */
function openBody(c: WebContext): Body {
	let reader: Body | undefined;
	return {
		next() {
			reader ??= c.env?.incoming?.[Symbol.asyncIterator]?.() ?? c.req.raw.body?.[Symbol.asyncIterator]();
			return reader?.next() ?? Promise.resolve({ done: true, value: undefined });
		},
	};
}

async function discard(body: Body): Promise<void> {
	try {
		for (let bytes = 0; bytes < MAX_DISCARDED_BYTES; ) {
			const { done, value } = await body.next();
			if (done === true) return;
			bytes += value.length;
		}
	} catch {
		// The client has disconnected, so nobody waits for a response.
	}
}
