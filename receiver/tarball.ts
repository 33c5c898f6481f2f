// Writes files as the .tgz that npm installs. The same files must give the same bytes on every machine
// forever, because shops' lock files contain their hash. The archive therefore contains nothing about the
// machine. It is not compressed either, because the output of compressors differs between processors and
// versions.

import { crc32 } from "node:zlib";

export type PackedFile = { readonly path: string; readonly bytes: Uint8Array };

/** Name of the top folder in the archive, which npm removes when it installs the package. */
const FOLDER = "package";
const BLOCK_BYTES = 512;
/** Modification time of every file, in seconds. It is 26 October 1985, the time that npm itself writes. */
const TIME = 499_162_500;
/** Maximum length of a path in a tar header. All our paths are shorter. */
const LONGEST_PATH = 100;
/** Maximum size of an uncompressed block in a gzip file. */
const MOST_STORED_BYTES = 65_535;

export function writeTarball(files: readonly PackedFile[]): Buffer {
	const parts = files.flatMap(({ path, bytes }) => [
		tarHeader(`${FOLDER}/${path}`, bytes.length),
		bytes,
		Buffer.alloc((BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES),
	]);
	// Two empty blocks end the archive.
	return wrapInGzip(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]));
}

/** Returns a POSIX ustar header. */
function tarHeader(path: string, size: number): Buffer {
	if (Buffer.byteLength(path) > LONGEST_PATH) throw new RangeError(`${path} is too long`);
	const header = Buffer.alloc(BLOCK_BYTES);
	const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
	header.write(path, 0);
	header.write(octal(0o644, 7), 100);
	header.write(octal(0, 7), 108);
	header.write(octal(0, 7), 116);
	header.write(octal(size, 11), 124);
	header.write(octal(TIME, 11), 136);
	// The checksum is computed as if its own field contained spaces.
	header.write(" ".repeat(8), 148);
	header.write("0", 156);
	header.write("ustar\u000000", 257);
	const sum = header.reduce((total, byte) => total + byte, 0);
	header.write(`${octal(sum, 6)}\0 `, 148);
	return header;
}

/** Wraps the content as a gzip file (RFC 1952) with uncompressed blocks (RFC 1951). */
function wrapInGzip(content: Buffer): Buffer {
	const blocks: Buffer[] = [];
	for (let at = 0; at < content.length; at += MOST_STORED_BYTES) {
		const block = content.subarray(at, at + MOST_STORED_BYTES);
		const head = Buffer.alloc(5);
		head.writeUInt8(at + block.length === content.length ? 1 : 0, 0);
		head.writeUInt16LE(block.length, 1);
		head.writeUInt16LE(~block.length & 0xffff, 3);
		blocks.push(head, block);
	}
	const start = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
	const end = Buffer.alloc(8);
	end.writeUInt32LE(crc32(content), 0);
	end.writeUInt32LE(content.length, 4);
	return Buffer.concat([start, ...blocks, end]);
}
