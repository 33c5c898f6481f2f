// Backups on the disk (domain/backup-file says what is in one): written and read as streams, however large they are.

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
} from "../domain/backup-file.ts";
import { writeNewFile } from "./durable-file.ts";
import { readErrorCode } from "./error-code.ts";

/** A file of a busy network becomes a fifth of its size; higher levels take three times as long for a hundredth more. */
const LEVEL = 1;
const CHUNK_BYTES = 1024 * 1024;

export async function openBackupFile(path: string): Promise<FoundContents> {
	const handle = await open(path, "r");
	try {
		const { size } = await handle.stat();
		return await findContents(async (at, bytes) => {
			const from = Math.max(0, at);
			const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, size - from)));
			if (buffer.length > 0) await handle.read(buffer, 0, buffer.length, from);
			return buffer;
		}, size);
	} finally {
		await handle.close();
	}
}

/** A new file, on the disk when it resolves. */
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
		// Last, because it says how long the database has become.
		await handle.write(head, 0, head.length, 0);
	});
}

/**
 * Whether the file is as it was written. With `to` the database is written there; the caller, who opened it, sees to it
 * that it gets onto the disk.
 */
export async function readBackupFile(
	path: string,
	{ manifest, startAt, endAt, hashedFrom, sha256 }: BackupContents,
	to: FileHandle | null,
): Promise<boolean> {
	if (endAt <= startAt) return false;
	const hash = createHash("sha256");
	async function* body(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
		let before = startAt - hashedFrom;
		for await (const chunk of source) {
			hash.update(chunk);
			if (chunk.length > before) yield chunk.subarray(before);
			before = Math.max(0, before - chunk.length);
		}
	}
	let passed = 0;
	// No stream of the handle: that one would close it when the backup is damaged.
	async function write(source: AsyncIterable<Uint8Array>): Promise<void> {
		for await (const chunk of source) {
			passed += chunk.length;
			// A few bytes of damage must not fill the disk.
			if (passed > manifest.databaseBytes) throw new TooLongError("more than the manifest says");
			await to?.writeFile(chunk);
		}
	}
	try {
		const reading = createReadStream(path, { start: hashedFrom, end: endAt - 1, highWaterMark: CHUNK_BYTES });
		await pipeline(reading, body, createZstdDecompress(), write);
	} catch (error) {
		if (isDamage(error)) return false;
		throw error;
	}
	return passed === manifest.databaseBytes && hash.digest("hex") === sha256;
}

class TooLongError extends Error {}

/** zlib's own words for bytes that it cannot make sense of. */
function isDamage(error: unknown): boolean {
	return error instanceof TooLongError || /^(?:Z_|ZSTD_|ERR_ZSTD|ERR_ZLIB)/.test(readErrorCode(error));
}
