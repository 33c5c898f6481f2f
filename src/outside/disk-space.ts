// How much room a disk has.

import { statfs } from "node:fs/promises";
import type { DiskSpace } from "../ports.ts";

/** Of the disk that `path` is on; null where the system does not tell. */
export async function readDiskSpace(path: string): Promise<DiskSpace | null> {
	try {
		const { bavail, blocks, bsize } = await statfs(path);
		return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
	} catch {
		// A file system that knows no such figures.
		return null;
	}
}
