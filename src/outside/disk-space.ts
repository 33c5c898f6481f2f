import { statfs } from "node:fs/promises";
import type { DiskSpace } from "#core/ports.ts";

/** Returns the space of the disk that holds `path`, or null if the system does not report it. */
export async function readDiskSpace(path: string): Promise<DiskSpace | null> {
	try {
		const { bavail, blocks, bsize } = await statfs(path);
		return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
	} catch {
		// The system does not report the space of this disk.
		return null;
	}
}
