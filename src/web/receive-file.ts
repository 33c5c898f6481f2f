// One file out of a multipart form, written to a disk as it comes: no more than a piece of it is ever held, a few come in
// at a time, and each is gone when its request has been answered. Who may send one is known before it is read.

import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import busboy from "busboy";
import type { Next } from "hono";
import { type AdmissionClass, CLASSES } from "../concurrency/admission.ts";
import { MEGABYTE } from "../domain/bytes.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { TemporaryFile, TemporaryFiles } from "../ports.ts";
import { answerError } from "./error-page.ts";
import { type Upload, viewerOf, type WebContext, type WebDeps } from "./page.ts";

/** What a form takes. */
export interface FileBounds {
	megabytes: number;
	/** Limits how many are uploaded at once. */
	admissionClass: Extract<AdmissionClass, `${string}Uploads`>;
	/** What to do with a larger one. */
	advice: string;
}

/** 40,000 decisions with long order ids and reasons. */
export const SMALL_FILES: FileBounds = {
	megabytes: 10,
	admissionClass: "decisionUploads",
	advice: "Split it into parts.",
};

/** A logo. */
export const PICTURES: FileBounds = {
	megabytes: 0.25,
	admissionClass: "pictureUploads",
	advice: "Choose a smaller picture.",
};

/** Half a million conversions: what a line of 30 Mbit/s brings in the 15 seconds that a request may take. */
export const IMPORT_FILES: FileBounds = {
	megabytes: 50,
	admissionClass: "importUploads",
	advice: "Split it into parts, or import it from a shell: ringback import takes 10 million lines.",
};

/** The form around the file: the headers of its parts. */
const MAX_FRAME_BYTES = 64 * 1_024;
/** Ours has nothing besides the file, and browsers write three headers a part. */
const LIMITS = { files: 1, fields: 1_000, parts: 1_000, fieldSize: 1_024, headerPairs: 20 } as const;

/**
 * What is refused is first read to its end and thrown away: a browser that is still sending would show that the
 * connection broke, and not what is wrong. Whoever has no slot is answered and hung up on.
 */
const MAX_DISCARDED_BYTES = 64 * MEGABYTE;

export function maxFileBytes({ megabytes }: FileBounds): number {
	return megabytes * MEGABYTE;
}

export function sayTooLarge({ megabytes, advice }: FileBounds): string {
	const most = megabytes < 1 ? `${megabytes * 1_024} KB` : `${megabytes} MB`;
	return `The file is larger than ${most}. ${advice}`;
}

/** Asked where a file is taken. Everything else is an ordinary form, with the bounds of one. */
export function isUpload(c: WebContext): boolean {
	return c.req.method === "POST" && /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
}

/** Of a form that must bring one. */
export function uploadOf(c: WebContext, ifNone: string): Result<Upload> {
	const upload = c.get("upload") ?? succeed(null);
	if (!upload.ok) return upload;
	return upload.value === null ? refuse("invalid_field", ifNone, "file") : succeed(upload.value);
}

export type UploadDeps = Pick<WebDeps, "temporaryFiles" | "admission">;
export type UploadGuard = (c: WebContext, next: Next) => Promise<Response | undefined>;

/** Behind the sign-in and the right to the programme. Hands the file on as `upload`, or why there is none. */
export function createUploadGuard(
	{ temporaryFiles, admission }: UploadDeps,
	bounds: FileBounds,
): UploadGuard {
	return async (c, next) => {
		const { personId } = viewerOf(c);
		const body = openBody(c);
		// Refused by what it says of itself, where it says so: nothing of it is parsed then.
		const isTooLarge = Number(c.req.header("content-length") ?? 0) > maxFileBytes(bounds) + MAX_FRAME_BYTES;
		const leave = await admission.admit(bounds.admissionClass, personId);
		let received: Received = { upload: leave === undefined ? tooMany(bounds) : tooLarge(bounds) };
		try {
			if (leave === undefined) c.header("connection", "close");
			else {
				// A slow line may take its time: how many upload at once is bounded here.
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
	/** What the page is told of it: the file, that none was chosen, or why it cannot be taken. */
	upload?: Result<Upload | null>;
	/** What is to be removed afterwards. */
	file?: TemporaryFile;
	/** Of a form that is not ours, or no form at all. */
	foreign?: "form_not_valid" | "invalid_field" | "body_too_large";
}

/** Takes no more of `body` than it needs to know: the rest is the caller's. */
async function receiveFile(
	c: WebContext,
	body: Body,
	files: TemporaryFiles,
	bounds: FileBounds,
): Promise<Received> {
	const parser = openParser(c.req.header("content-type") ?? "", bounds);
	if (parser === undefined) return { foreign: "form_not_valid" };
	// Only noted: busboy is in the middle of a write when it tells of these.
	let stopped: Received | undefined;
	const stop = (why: Received) => {
		stopped ??= why;
	};
	let kept: { name: string; bytes: number; file: TemporaryFile } | undefined;
	/** The disk's, and not the sender's. */
	let failure: { error: unknown } | undefined;
	let keeping = Promise.resolve();
	const keep = async (stream: Readable, name: string) => {
		try {
			kept = { name, bytes: 0, file: await files.create() };
			for await (const piece of piecesOf(stream)) {
				await kept.file.append(piece);
				kept.bytes += piece.length;
			}
		} catch (error) {
			failure = { error };
			parser.destroy();
		}
	};
	// What is wrong with a form is known by how feeding it ends; told here a second time, it would end the process.
	parser.on("error", ignore);
	parser.on("file", (field, stream, { filename }) => {
		stream.on("error", ignore);
		if (stopped !== undefined || field !== "file" || !filename) return void stream.resume();
		stream.once("limit", () => stop({ upload: tooLarge(bounds) }));
		keeping = keep(stream, filename);
	});
	for (const limit of ["partsLimit", "fieldsLimit", "filesLimit"] as const) {
		parser.on(limit, () => stop({ foreign: "body_too_large" }));
	}
	async function* pieces(): AsyncGenerator<Uint8Array> {
		for (let bytes = 0; stopped === undefined; ) {
			const { done, value } = await body.next();
			if (done === true) return;
			bytes += value.length;
			if (bytes > maxFileBytes(bounds) + MAX_FRAME_BYTES) stop({ upload: tooLarge(bounds) });
			else yield value;
		}
	}
	// Whatever the parser did not understand, and whoever hung up on the way: all the same to us.
	const isWhole = await pipeline(pieces(), parser).then(
		() => true,
		() => false,
	);
	await keeping;
	if (failure === undefined && stopped === undefined && isWhole) {
		return kept === undefined
			? { upload: succeed(null) }
			: { upload: succeed(toUpload(kept)), file: kept.file };
	}
	await kept?.file.remove();
	if (failure !== undefined) throw failure.error;
	// Cut off on the way, or with characters that no form has: a file name may hold them.
	return stopped ?? { foreign: "invalid_field" };
}

const ignore = () => undefined;

/** Undefined for what names no boundary. */
function openParser(type: string, bounds: FileBounds): busboy.Busboy | undefined {
	// It tells when the limit is reached, and not when it is passed.
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
		// Cut off: known already.
	}
}

const MAX_NAME_CHARACTERS = 120;

/** Its name is bounded, and nothing that a database refuses to store. */
function toUpload({ name, bytes, file }: { name: string; bytes: number; file: TemporaryFile }): Upload {
	const shown = name
		.slice(0, MAX_NAME_CHARACTERS)
		.toWellFormed()
		.replace(/\p{Cc}/gu, "");
	return { name: shown, bytes, read: () => file.read() };
}

function tooLarge(bounds: FileBounds): Result<never> {
	return refuse("body_too_large", sayTooLarge(bounds), "file");
}

function tooMany({ admissionClass }: FileBounds): Result<never> {
	const { atOnce, atOncePerClient } = CLASSES[admissionClass];
	const detail = `Too many files are being uploaded at once: ${atOncePerClient} by one person, or ${atOnce} in all. Wait a few seconds, then upload this one again.`;
	return refuse("too_many_uploads", detail, "file");
}

/** Runs the page that reads the file. Files of the same kind are read one after the other. */
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
 * Opened when somebody reads it, and not before. As it comes from the socket: the request's own stream would copy it.
 * Never closed, because that would break the connection that the answer goes over.
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
		// Whoever has hung up waits for no answer.
	}
}
