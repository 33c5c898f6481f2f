// Compressed files of lines that are kept outside the database. A file has its final name only once it is whole and on
// the disk, so whoever removes what it holds afterwards loses nothing, whatever happens in between.

import { randomBytes } from "node:crypto";
import { createWriteStream, mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Archive } from "../ports.ts";
import { replaceDurably } from "./durable-file.ts";

/** Process numbers come again, in containers at every start. */
const NAME_BYTES = 6;

/** Throws when the folder is not there and cannot be made, or takes no files. */
export function openArchiveFolder(folder: string): Archive {
	makeFolder(folder);
	writeProbe(folder);
	return {
		async store(name, lines) {
			const file = `${name}-${process.pid}-${randomBytes(NAME_BYTES).toString("hex")}.jsonl.gz`;
			const path = join(folder, file);
			const partial = `${path}.partial`;
			try {
				// `flush`: on the disk before the stream counts as finished.
				const target = createWriteStream(partial, { flags: "wx", mode: 0o600, flush: true });
				await pipeline(Readable.from(withEnds(lines)), createGzip(), target);
				await replaceDurably(partial, path);
			} catch (error) {
				await rm(partial, { force: true });
				throw error;
			}
			return file;
		},
	};
}

/** Throws when it could not be opened. What was not there before is gone again afterwards. */
export function tryArchiveFolder(folder: string): void {
	const firstMade = makeFolder(folder);
	try {
		writeProbe(folder);
	} finally {
		if (firstMade !== undefined) removeEmpty(folder, resolve(firstMade));
	}
}

/** Returns the topmost folder that had to be made. */
function makeFolder(folder: string): string | undefined {
	return mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** A folder that is there may still belong to somebody else, be read-only or full. */
function writeProbe(folder: string): void {
	const path = join(folder, `probe-${randomBytes(NAME_BYTES).toString("hex")}`);
	try {
		writeFileSync(path, "Ringback tries whether it can write here.\n", {
			flag: "wx",
			mode: 0o600,
			flush: true,
		});
	} finally {
		rmSync(path, { force: true });
	}
}

function removeEmpty(folder: string, topmost: string): void {
	try {
		for (let path = resolve(folder); path.length >= topmost.length; path = dirname(path)) rmdirSync(path);
	} catch {
		// Somebody has put something there in the meantime: it stays.
	}
}

async function* withEnds(lines: AsyncIterable<string>): AsyncIterable<string> {
	for await (const line of lines) yield `${line}\n`;
}
