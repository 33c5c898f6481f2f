// Backups on the disk (domain/backup-file says what is in one): written and read as streams, however large they are.

import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";
import {
	type BackupHead,
	type Checksums,
	HEAD_BYTES,
	readHead,
	readTail,
	TAIL_BYTES,
	writeTail,
} from "../domain/backup-file.ts";
import { readErrorCode } from "./error-code.ts";

/** A file of a busy network becomes a fifth of its size; higher levels take three times as long for a hundredth more. */
const LEVEL = 1;
const CHUNK_BYTES = 1024 * 1024;

/** Hears how many bytes of the database have passed. */
export type OnBytes = (bytes: number) => void;

export interface OpenedBackup {
	path: string;
	bytes: number;
	head: BackupHead;
	/** Null when the file is cut or its end damaged. */
	tail: Checksums | null;
}

export async function openBackupFile(path: string): Promise<OpenedBackup> {
	const handle = await open(path, "r");
	try {
		const { size } = await handle.stat();
		const first = Buffer.alloc(Math.min(HEAD_BYTES, size));
		await handle.read(first, 0, first.length, 0);
		const last = Buffer.alloc(Math.min(TAIL_BYTES, size));
		await handle.read(last, 0, last.length, size - last.length);
		return { path, bytes: size, head: readHead(first), tail: readTail(last) };
	} finally {
		await handle.close();
	}
}

/** A new file, on the disk when it resolves. */
export async function writeBackupFile(
	{ head, from, to }: { head: string; from: string; to: string },
	onBytes: OnBytes,
): Promise<Checksums> {
	const database = createHash("sha256");
	const file = createHash("sha256");
	let checksums: Checksums | undefined;
	async function* frame(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
		yield noted(Buffer.from(head), file);
		for await (const chunk of compressed) yield noted(chunk, file);
		checksums = { database: database.digest("hex"), file: file.digest("hex") };
		yield Buffer.from(writeTail(checksums));
	}
	await pipeline(
		createReadStream(from, { highWaterMark: CHUNK_BYTES }),
		tap(database, onBytes),
		createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } }),
		frame,
		// `flush`: on the disk before the stream counts as finished.
		createWriteStream(to, { flags: "wx", mode: 0o600, flush: true }),
	);
	if (checksums === undefined) throw new Error("a backup was written without its checksums");
	return checksums;
}

/**
 * What the checksums are now; null when the database in it cannot be read at all. With `to` the database is written
 * there; whoever opened it sees to it that it gets onto the disk.
 */
export async function readBackupFile(
	{ path, bytes, head }: OpenedBackup,
	to: FileHandle | null,
	onBytes: OnBytes,
): Promise<Checksums | null> {
	if (head.kind !== "backup") return null;
	const { bodyAt, manifest } = head;
	const database = createHash("sha256");
	const file = createHash("sha256");
	const end = bytes - TAIL_BYTES - 1;
	if (end < bodyAt) return null;
	async function* body(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
		let before = bodyAt;
		for await (const chunk of source) {
			noted(chunk, file);
			if (chunk.length > before) yield chunk.subarray(before);
			before = Math.max(0, before - chunk.length);
		}
	}
	// No stream of the handle: that one would close it when the backup is damaged.
	async function write(source: AsyncIterable<Uint8Array>): Promise<void> {
		for await (const chunk of source) await to?.writeFile(chunk);
	}
	try {
		const reading = createReadStream(path, { start: 0, end, highWaterMark: CHUNK_BYTES });
		const most = manifest.databaseBytes;
		await pipeline(reading, body, createZstdDecompress(), tap(database, onBytes, most), write);
	} catch (error) {
		if (isDamage(error)) return null;
		throw error;
	}
	return { database: database.digest("hex"), file: file.digest("hex") };
}

class TooLongError extends Error {}

/** zlib's own words for bytes that it cannot make sense of. */
function isDamage(error: unknown): boolean {
	return error instanceof TooLongError || /^(?:Z_|ZSTD_|ERR_ZSTD|ERR_ZLIB)/.test(readErrorCode(error));
}

function noted(chunk: Uint8Array, hash: Hash): Uint8Array {
	hash.update(chunk);
	return chunk;
}

/** `most`: a few bytes of damage must not fill the disk. */
function tap(hash: Hash, onBytes: OnBytes, most = Number.POSITIVE_INFINITY) {
	return async function* (source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
		let passed = 0;
		for await (const chunk of source) {
			passed += chunk.length;
			if (passed > most) throw new TooLongError("more than the manifest says");
			hash.update(chunk);
			onBytes(passed);
			yield chunk;
		}
	};
}
