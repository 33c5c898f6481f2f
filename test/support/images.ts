// Creates small images that browsers can display.

import { crc32, deflateSync } from "node:zlib";

/**
 * Returns an image in one colour. An image of a size that no machine could hold has a header and no pixels.
 */
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
		Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
		chunk("IHDR", header),
		chunk("IDAT", deflateSync(pixels)),
		chunk("IEND", Buffer.alloc(0)),
	]);
}

function chunk(name: string, data: Buffer): Buffer {
	const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
	const length = Buffer.alloc(4);
	length.writeUInt32BE(data.length);
	const check = Buffer.alloc(4);
	check.writeUInt32BE(crc32(body));
	return Buffer.concat([length, body, check]);
}
