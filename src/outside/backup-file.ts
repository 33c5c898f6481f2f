// Reads and writes backup files as streams, so that a file of any size needs little memory. The format is
// described in core/domain/backup-file.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";
import {
	type BackupContents,
	DATABASE_AT,
	type FoundContents,
	findContents,
	frameDatabase,
	type Manifest,
} from "#core/domain/backup-file.ts";
import { writeNewFile } from "./durable-file.ts";
import { readErrorCode } from "./error-code.ts";

/**
 * Compression level. Level 1 shrinks the file of a busy network to a fifth. Higher levels take three times as
 * long and save only one percent more.
 */
const LEVEL = 1;
const CHUNK_BYTES = 1024 * 1024;

export async function openBackupFile(path: string): Promise<FoundContents> {
	const handle = await open(path, "r");
	try {
		const { size } = await handle.stat();
		return await findContents(async (at, bytes) => {
			const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, size - at)));
			if (buffer.length > 0) await handle.read(buffer, 0, buffer.length, at);
			return buffer;
		});
	} finally {
		await handle.close();
	}
}

/** Writes a new backup file. When the promise resolves, the file is synced to the disk. */
export async function writeBackupFile(
	manifest: Manifest,
	{ from, to }: { from: string; to: string },
): Promise<void> {
	await writeNewFile(to, null, async (handle) => {
		const hash = createHash("sha256");
		let bytes = 0;
		await handle.writeFile(Buffer.alloc(DATABASE_AT));
		await pipeline(
			createReadStream(from, { highWaterMark: CHUNK_BYTES }),
			createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } }),
			async (packed: AsyncIterable<Uint8Array>) => {
				for await (const chunk of packed) {
					hash.update(chunk);
					bytes += chunk.length;
					await handle.writeFile(chunk);
				}
			},
		);
		const { head, tail } = frameDatabase(manifest, { bytes, sha256: hash.digest("hex") });
		await handle.writeFile(tail);
		// The head is written last, because it contains the length of the database.
		await handle.write(head, 0, head.length, 0);
	});
}

/**
 * Checks that the file is exactly as it was written. If `to` is given, the unpacked database is written to that open
 * file, which the caller must then sync to the disk.
 */
export async function readBackupFile(
	path: string,
	{ manifest, endAt, sha256 }: BackupContents,
	to: FileHandle | null,
): Promise<boolean> {
	if (endAt <= DATABASE_AT) return false;
	const hash = createHash("sha256");
	async function* hashChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
		for await (const chunk of source) {
			hash.update(chunk);
			yield chunk;
		}
	}
	let writtenBytes = 0;
	// The chunks are written directly, because a stream over the handle would close the handle when the backup
	// is damaged.
	async function write(source: AsyncIterable<Uint8Array>): Promise<void> {
		for await (const chunk of source) {
			writtenBytes += chunk.length;
			// The size is limited, because a damaged backup could expand until the disk is full.
			if (writtenBytes > manifest.databaseBytes) throw new TooLongError("more than the manifest says");
			await to?.writeFile(chunk);
		}
	}
	try {
		const reading = createReadStream(path, {
			start: DATABASE_AT,
			end: endAt - 1,
			highWaterMark: CHUNK_BYTES,
		});
		await pipeline(reading, hashChunks, createZstdDecompress(), write);
	} catch (error) {
		if (isDamage(error)) return false;
		throw error;
	}
	return writtenBytes === manifest.databaseBytes && hash.digest("hex") === sha256;
}

class TooLongError extends Error {}

function isDamage(error: unknown): boolean {
	return error instanceof TooLongError || /^(?:Z_|ZSTD_|ERR_ZSTD|ERR_ZLIB)/.test(readErrorCode(error));
}
