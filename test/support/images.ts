// Creates small images that browsers can display.

import { crc32, deflateSync } from "node:zlib";

/** The first bytes of every PNG file. */
export const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");

/** Returns an image in one colour. If the size is too large for any machine, the image has a header and no pixels. */
export function pngOf(width: number, height: number, [red, green, blue] = [59, 79, 216]): Buffer {
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	header.set([8, 2, 0, 0, 0], 8);
	const isDrawn = width * height <= 4_000_000;
	const row = [
		0,
		...Array.from({ length: isDrawn ? width : 0 }, () => [red ?? 0, green ?? 0, blue ?? 0]).flat(),
	];
	const pixels = Buffer.concat(Array.from({ length: isDrawn ? height : 0 }, () => Buffer.from(row)));
	return Buffer.concat([
		PNG_SIGNATURE,
		chunkOf("IHDR", header),
		chunkOf("IDAT", deflateSync(pixels)),
		chunkOf("IEND", Buffer.alloc(0)),
	]);
}

/** Returns a chunk with its length and checksum. */
export function chunkOf(name: string, data: Buffer): Buffer {
	const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
	const length = Buffer.alloc(4);
	length.writeUInt32BE(data.length);
	const check = Buffer.alloc(4);
	check.writeUInt32BE(crc32(body));
	return Buffer.concat([length, body, check]);
}
