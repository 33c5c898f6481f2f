// Files that live no longer than the request that brought them. Each loses its name as soon as it is open: whatever
// happens to the process, also kill -9, the system then takes its space back by itself.

import { randomBytes } from "node:crypto";
import { readdirSync, unlinkSync } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { TemporaryFile, TemporaryFiles } from "../ports.ts";
import { readErrorCode } from "./error-code.ts";

/** What is held of a file at any time; and what is read of it at a time, so that others are not held up. */
const CHUNK_BYTES = 16_384;
const NAME_BYTES = 16;
const NAME = /^[0-9a-f]{32}$/;

/** Beside the database file, which is on a disk; the system's folder for temporary files may be in memory. */
export function temporaryFilesBeside(databasePath: string): TemporaryFiles {
	return createTemporaryFiles(`${databasePath}.upload-`);
}

export function temporaryFilesOfSystem(): TemporaryFiles {
	return createTemporaryFiles(join(tmpdir(), "ringback-upload-"));
}

export function createTemporaryFiles(prefix: string): TemporaryFiles {
	removeLeftOvers(prefix);
	return {
		async create() {
			const path = `${prefix}${randomBytes(NAME_BYTES).toString("hex")}`;
			const handle = await open(path, "wx+", 0o600);
			try {
				await unlink(path);
			} catch (error) {
				// Another process on the same folder has just started and removed it: so it has no name, as it should.
				if (readErrorCode(error) !== "ENOENT") {
					await handle.close();
					throw error;
				}
			}
			return openFile(handle);
		},
	};
}

function openFile(handle: FileHandle): TemporaryFile {
	return {
		async append(bytes) {
			for (let start = 0; start < bytes.length; ) {
				start += (await handle.write(bytes, start)).bytesWritten;
			}
		},
		async *read() {
			for (let position = 0; ; ) {
				const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
				const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
				if (bytesRead === 0) return;
				position += bytesRead;
				yield buffer.subarray(0, bytesRead);
			}
		},
		remove: () => handle.close(),
	};
}

/** What a process that was killed between opening a file and taking its name away has left: an empty file. */
function removeLeftOvers(prefix: string): void {
	const start = basename(prefix);
	for (const name of listFolder(dirname(prefix))) {
		if (!name.startsWith(start) || !NAME.test(name.slice(start.length))) continue;
		try {
			unlinkSync(join(dirname(prefix), name));
		} catch {
			// Somebody else's, in a folder that all share: not ours to remove, and in nobody's way.
		}
	}
}

function listFolder(folder: string): readonly string[] {
	try {
		return readdirSync(folder);
	} catch (error) {
		if (readErrorCode(error) === "ENOENT") return [];
		throw error;
	}
}
