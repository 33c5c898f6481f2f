// Temporary files for the data of one request. Each file is unlinked as soon as it is open, so the system
// frees its space even if the process is killed.

import { randomBytes } from "node:crypto";
import { unlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TemporaryFile, TemporaryFiles } from "#core/ports.ts";

/** Size of the write buffer and of each chunk that is read, small enough not to delay other requests. */
const CHUNK_BYTES = 16_384;
const NAME_BYTES = 16;

/**
 * Creates temporary files in the folder of the database file, which is on a disk. The system's folder for
 * temporary files may be in memory.
 */
export function temporaryFilesBeside(databasePath: string): TemporaryFiles {
	return createTemporaryFiles(`${databasePath}.upload-`);
}

export function temporaryFilesOfSystem(): TemporaryFiles {
	return createTemporaryFiles(join(tmpdir(), "ringback-upload-"));
}

export function createTemporaryFiles(prefix: string): TemporaryFiles {
	return {
		async create() {
			const path = `${prefix}${randomBytes(NAME_BYTES).toString("hex")}`;
			const handle = await open(path, "wx+", 0o600);
			unlinkSync(path);
			return openFile(handle);
		},
	};
}

function openFile(handle: FileHandle): TemporaryFile {
	return {
		append: (bytes) => handle.appendFile(bytes),
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
