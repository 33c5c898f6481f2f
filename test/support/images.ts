// Small pictures: a PNG that browsers draw, and the beginnings of JPEG and WebP, which hold kind and size.

import { crc32, deflateSync } from "node:zlib";

/** In one colour. Sizes that no machine could hold have a header and no pixels. */
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

/** `between`: segments before the one with the size. */
export function jpegOf(width: number, height: number, between: readonly number[] = []): Buffer {
	const start = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x00, 0x04, 0x4a, 0x46, ...between]);
	const frame = Buffer.from([0xff, 0xc2, 0x00, 0x0b, 0x08, 0, 0, 0, 0, 0x01, 0x01, 0x11, 0x00]);
	frame.writeUInt16BE(height, 5);
	frame.writeUInt16BE(width, 7);
	return Buffer.concat([start, frame]);
}

export function webpOf(form: "VP8 " | "VP8L" | "VP8X", width: number, height: number): Buffer {
	const bytes = Buffer.alloc(34);
	bytes.write("RIFF", 0, "latin1");
	bytes.write("WEBP", 8, "latin1");
	bytes.write(form, 12, "latin1");
	if (form === "VP8 ") {
		bytes.writeUInt16LE(width, 26);
		bytes.writeUInt16LE(height, 28);
	} else if (form === "VP8L") bytes.writeUInt32LE((width - 1) | ((height - 1) << 14), 21);
	else {
		bytes.writeUIntLE(width - 1, 24, 3);
		bytes.writeUIntLE(height - 1, 27, 3);
	}
	return bytes;
}
