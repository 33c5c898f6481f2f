// One file out of a multipart form, written to a disk as it comes: no more than a piece of it is ever held.

import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import busboy from "busboy";
import type { Next } from "hono";
import { MEGABYTE } from "../domain/bytes.ts";
import { type Fault, fault, type Result, succeed } from "../domain/fault.ts";
import type { Clock, TemporaryFile, TemporaryFiles } from "../ports.ts";
import { answerError } from "./error-page.ts";
import { type Upload, viewerOf, type WebContext, type WebDeps } from "./page.ts";
import { createSlots, type SlotLimits } from "./slots.ts";

/** What a form takes. */
export interface FileBounds {
	megabytes: number;
	/** How many at once. */
	slots: SlotLimits;
	/** What to do with a larger one. */
	advice: string;
}

/**
 * 40,000 decisions with long order ids and reasons, or a picture. A person has one under way, and one that was started
 * over. In all: reading such a file keeps the processor busy for a second or two, a few milliseconds at a time, and four
 * together still leave time to answer everybody else. One that stalls loses its slot with its connection, after 15
 * seconds (outside/http-server).
 */
export const SMALL_FILES: FileBounds = {
	megabytes: 10,
	slots: { aPerson: 2, inAll: 4 },
	advice: "Split it into parts.",
};

/** Half a million conversions: what a line of 30 Mbit/s brings in the 15 seconds that a request may take. */
export const IMPORT_FILES: FileBounds = {
	megabytes: 50,
	slots: { aPerson: 2, inAll: 2 },
	advice: "Split it into parts, or import it from a shell: ringback import takes 10 million lines.",
};

/** The form around the file: the headers of its parts. */
const MAX_FRAME_BYTES = 64 * 1_024;

export function maxFileBytes({ megabytes }: FileBounds): number {
	return megabytes * MEGABYTE;
}

function maxUploadBytes(bounds: FileBounds): number {
	return maxFileBytes(bounds) + MAX_FRAME_BYTES;
}

const FILE_FIELD = "file";
/** Ours have none besides the file. */
const MAX_FIELDS = 1_000;
const MAX_FIELD_BYTES = 1_024;
/** Browsers write three. */
const MAX_PART_HEADERS = 20;

const ignore = () => undefined;

type Receipt =
	/** Whoever gets it removes it. */
	| { kind: "file"; name: string; bytes: number; file: TemporaryFile }
	/** No file was chosen. */
	| { kind: "none" }
	/** Its file cannot be taken. */
	| { kind: "refused"; fault: Fault }
	/** No form that a page of ours sends. */
	| { kind: "foreign"; code: "form_not_valid" | "invalid_field" | "body_too_large" };

interface Receiving {
	/** The form's Content-Type. */
	type: string;
	bounds: FileBounds;
	files: TemporaryFiles;
}

/** Takes no more of `body` than it needs to know: the rest is the caller's. */
async function receiveFile(
	body: AsyncIterator<Uint8Array>,
	{ type, bounds, files }: Receiving,
): Promise<Receipt> {
	let stopped: Receipt | undefined;
	let name = "";
	let keeping: Promise<Kept> | undefined;
	const parser = openParser(type, bounds);
	if (parser === undefined) return { kind: "foreign", code: "form_not_valid" };
	// Only noted here: busboy is in the middle of a write when it emits these.
	const stop = (receipt: Receipt) => {
		stopped ??= receipt;
	};
	// What is wrong with a form is known by how feeding it ends; told here a second time, it would end the process.
	parser.on("error", ignore);
	parser.on("file", (field, stream, info) => {
		stream.on("error", ignore);
		if (stopped !== undefined || field !== FILE_FIELD || !info.filename) {
			stream.resume();
			return;
		}
		name = info.filename;
		stream.once("limit", () => stop(tooLarge(bounds)));
		keeping = keepFile(stream, files, () => parser.destroy());
	});
	for (const limit of ["partsLimit", "fieldsLimit", "filesLimit"] as const) {
		parser.on(limit, () => stop({ kind: "foreign", code: "body_too_large" }));
	}
	const isWhole = await feed(parser, body, bounds, () => stopped !== undefined, stop);
	const kept = await keeping;
	const receipt = stopped ?? judge(isWhole, name, kept);
	if (receipt.kind !== "file" || kept?.failure !== undefined) await kept?.file?.remove();
	if (kept?.failure !== undefined) throw kept.failure;
	return receipt;
}

function judge(isWhole: boolean, name: string, kept: Kept | undefined): Receipt {
	// Cut off on the way, or with characters that no form has: a file name may hold them.
	if (!isWhole) return { kind: "foreign", code: "invalid_field" };
	if (kept?.file === undefined) return { kind: "none" };
	return { kind: "file", name, bytes: kept.bytes, file: kept.file };
}

/** Undefined for what names no boundary. */
function openParser(type: string, bounds: FileBounds): busboy.Busboy | undefined {
	try {
		return busboy({
			headers: { "content-type": type },
			defParamCharset: "utf8",
			limits: {
				// It tells when the limit is reached, and not when it is passed.
				fileSize: maxFileBytes(bounds) + 1,
				files: 1,
				fields: MAX_FIELDS,
				fieldSize: MAX_FIELD_BYTES,
				parts: MAX_FIELDS,
				headerPairs: MAX_PART_HEADERS,
			},
		});
	} catch {
		return undefined;
	}
}

/** False when it is not a whole form, or was stopped before its end. */
async function feed(
	parser: busboy.Busboy,
	body: AsyncIterator<Uint8Array>,
	bounds: FileBounds,
	isStopped: () => boolean,
	stop: (receipt: Receipt) => void,
): Promise<boolean> {
	let bytes = 0;
	async function* pieces(): AsyncGenerator<Uint8Array> {
		while (!isStopped()) {
			const { done, value } = await body.next();
			if (done === true) return;
			bytes += value.length;
			if (bytes > maxUploadBytes(bounds)) stop(tooLarge(bounds));
			else yield value;
		}
	}
	try {
		await pipeline(pieces(), parser);
		return true;
	} catch {
		// Whatever the parser did not understand, and whoever hung up on the way: all the same to us.
		return false;
	}
}

interface Kept {
	file?: TemporaryFile;
	bytes: number;
	/** The disk's, and not the sender's. */
	failure?: unknown;
}

async function keepFile(stream: Readable, files: TemporaryFiles, onFailure: () => void): Promise<Kept> {
	let file: TemporaryFile | undefined;
	let bytes = 0;
	try {
		file = await files.create();
		for await (const piece of pieces(stream)) {
			await file.append(piece);
			bytes += piece.length;
		}
		return { file, bytes };
	} catch (failure) {
		onFailure();
		return file === undefined ? { bytes, failure } : { file, bytes, failure };
	}
}

async function* pieces(stream: Readable): AsyncGenerator<Uint8Array> {
	try {
		for await (const piece of stream) if (piece instanceof Uint8Array) yield piece;
	} catch {
		// Cut off: known already.
	}
}

function tooLarge(bounds: FileBounds): Receipt {
	return { kind: "refused", fault: fault("body_too_large", sayTooLarge(bounds), "file") };
}

export function sayTooLarge({ megabytes, advice }: FileBounds): string {
	return `The file is larger than ${megabytes} MB. ${advice}`;
}

// The guard of forms that bring a file. Who may send one is known before it is read; it is streamed to a disk, a few
// at a time, and gone when the request has been answered.

/**
 * What is refused is first read to its end and thrown away: a browser that is still sending would show that the
 * connection broke, and not what is wrong. Whoever sends many such is answered and hung up on, because what is read
 * leaves its mark on the memory, too, until it is cleaned up.
 */
const DISCARD_LIMITS: SlotLimits = { aPerson: 1, inAll: 2, pauseMs: 5_000 };
const MAX_DISCARDED_BYTES = 64 * MEGABYTE;

/** Asked where a file is taken. Everything else is an ordinary form, with the bounds of one. */
export function isUpload(c: WebContext): boolean {
	return c.req.method === "POST" && /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
}

export type UploadDeps = Pick<WebDeps, "temporaryFiles" | "clock">;
export type UploadGuard = (c: WebContext, next: Next) => Promise<Response | undefined>;

/** Behind the sign-in and the right to the programme. Hands the file on as `upload`, or why there is none. */
export function createUploadGuard(
	{ temporaryFiles: files, clock }: UploadDeps,
	bounds: FileBounds,
): UploadGuard {
	const slots = createSlots(bounds.slots, clock);
	const discards = createSlots(DISCARD_LIMITS, clock);
	const refusals = createQueue(clock);
	// They share one processor anyway, and what each of them holds while it is read adds up.
	const readers = createQueue(clock);
	return async (c, next) => {
		const { personId } = viewerOf(c);
		const body = openBody(c);
		// Refused by what it says of itself, where it says so: nothing of it is parsed then.
		const isTooLarge = Number(c.req.header("content-length") ?? 0) > maxUploadBytes(bounds);
		const giveBack = isTooLarge ? undefined : slots.take(personId);
		let receipt = isTooLarge ? tooLarge(bounds) : tooMany(bounds);
		try {
			// A slow line may take its time: how many upload at once is bounded here.
			if (giveBack !== undefined) {
				c.env?.outgoing?.emit("takesLong");
				receipt = await receive(c, body, files, bounds);
			}
			if (receipt.kind !== "file") {
				giveBack?.();
				const endDiscard = discards.take(personId);
				if (endDiscard === undefined) c.header("connection", "close");
				else await discard(body).finally(endDiscard);
			}
			if (receipt.kind === "foreign") return await answerError(c, receipt.code);
			c.set("upload", toUpload(receipt));
			await (receipt.kind === "file" ? readers : refusals)(next);
			return undefined;
		} finally {
			if (receipt.kind === "file") await receipt.file.remove();
			giveBack?.();
		}
	};
}

function receive(c: WebContext, body: Body, files: TemporaryFiles, bounds: FileBounds): Promise<Receipt> {
	const type = c.req.header("content-type") ?? "";
	return receiveFile(body, { type, bounds, files });
}

function toUpload(receipt: Exclude<Receipt, { kind: "foreign" }>): Result<Upload | null> {
	switch (receipt.kind) {
		case "file":
			return succeed({
				name: showableName(receipt.name),
				bytes: receipt.bytes,
				read: () => receipt.file.read(),
			});
		case "none":
			return succeed(null);
		case "refused":
			return { ok: false, fault: receipt.fault };
		default:
			return receipt satisfies never;
	}
}

const MAX_NAME_CHARACTERS = 120;

/** Bounded, and nothing that a database refuses to store. */
function showableName(name: string): string {
	return name
		.slice(0, MAX_NAME_CHARACTERS)
		.toWellFormed()
		.replace(/\p{Cc}/gu, "");
}

function tooMany({ slots: { aPerson, inAll } }: FileBounds): Receipt {
	const detail = `Too many files are being uploaded at once: ${aPerson} by one person, or ${inAll} in all. Wait a few seconds, then upload this one again.`;
	return { kind: "refused", fault: fault("too_many_uploads", detail, "file") };
}

/**
 * One after the other, with time for other requests in between: thirty pages that say no, made in one go, would keep
 * all others waiting for a tenth of a second.
 */
function createQueue(clock: Pick<Clock, "yieldLoop">): (run: () => Promise<void>) => Promise<void> {
	let last: Promise<void> = Promise.resolve();
	return (run) => {
		const done = last.then(run);
		last = done.catch(() => undefined).then(() => clock.yieldLoop());
		return done;
	};
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
