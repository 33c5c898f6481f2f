// One file out of a multipart form, written to a disk as it comes: no more than a piece of it is ever held. The form's
// token must stand before the file, as in our own forms: without it nothing is written.

import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import busboy from "busboy";
import { MEGABYTE } from "../domain/bytes.ts";
import { type Fault, fault } from "../domain/fault.ts";
import type { TemporaryFile, TemporaryFiles } from "../ports.ts";
import { CSRF_FIELD } from "./csrf.ts";
import type { SlotLimits } from "./slots.ts";

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
	advice: "Split it into parts, or import it from a shell: ringback import takes files of any size.",
};

/** The form around the file: its token, and the headers of its parts. */
const MAX_FRAME_BYTES = 64 * 1_024;

export function maxFileBytes({ megabytes }: FileBounds): number {
	return megabytes * MEGABYTE;
}

export function maxUploadBytes(bounds: FileBounds): number {
	return maxFileBytes(bounds) + MAX_FRAME_BYTES;
}

const FILE_FIELD = "file";
/** Ours has one, of 43 characters. */
const MAX_FIELDS = 1_000;
const MAX_FIELD_BYTES = 1_024;
/** Browsers write three. */
const MAX_PART_HEADERS = 20;

const ignore = () => undefined;

export type Receipt =
	/** Whoever gets it removes it. */
	| { kind: "file"; name: string; bytes: number; file: TemporaryFile }
	/** The form is ours and no file was chosen. */
	| { kind: "none" }
	/** The form is ours, and its file cannot be taken. */
	| { kind: "refused"; fault: Fault }
	/** Not ours, or no form at all. */
	| { kind: "foreign"; code: "form_not_valid" | "invalid_field" | "body_too_large" };

export interface Receiving {
	/** The form's Content-Type. */
	type: string;
	bounds: FileBounds;
	files: TemporaryFiles;
	isOwn(token: string | undefined): boolean;
}

/** Takes no more of `body` than it needs to know: the rest is the caller's. */
export async function receiveFile(
	body: AsyncIterator<Uint8Array>,
	{ type, bounds, files, isOwn }: Receiving,
): Promise<Receipt> {
	let token: string | undefined;
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
	parser.on("field", (field, value) => {
		if (field === CSRF_FIELD) token = value;
	});
	parser.on("file", (field, stream, info) => {
		stream.on("error", ignore);
		if (!isOwn(token)) stop({ kind: "foreign", code: "form_not_valid" });
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
	const receipt = stopped ?? judge(isOwn(token), isWhole, name, kept);
	if (receipt.kind !== "file" || kept?.failure !== undefined) await kept?.file?.remove();
	if (kept?.failure !== undefined) throw kept.failure;
	return receipt;
}

function judge(isOwn: boolean, isWhole: boolean, name: string, kept: Kept | undefined): Receipt {
	if (!isOwn) return { kind: "foreign", code: "form_not_valid" };
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

export function tooLarge(bounds: FileBounds): Receipt {
	return { kind: "refused", fault: fault("body_too_large", sayTooLarge(bounds), "file") };
}

export function sayTooLarge({ megabytes, advice }: FileBounds): string {
	return `The file is larger than ${megabytes} MB. ${advice}`;
}
