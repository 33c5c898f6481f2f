// A screenshot with a palette in place of three bytes a pixel: pages have few colours, and a third of the size is
// left. Reads what Chromium writes (8 bits a channel, not interlaced), PNG specification sections 5, 9 and 11.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const PALETTE_SIZE = 256;
/** Grounds, lines and letters: the most seen are kept as they are, however near to each other. */
const EXACT_COLOURS = 64;
/** The upper four bits of each channel: without it the greys of the letters would push every rare colour out. */
const NEIGHBOURHOOD = 0xf0f0f0;
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: 4 };

export function shrinkPng(png: Buffer): Buffer {
	const chunks = readChunks(png);
	const head = chunks.find(({ type }) => type === "IHDR")?.data ?? Buffer.alloc(0);
	const width = head.readUInt32BE(0);
	const height = head.readUInt32BE(4);
	const channels = CHANNELS[head.readUInt8(9)];
	if (channels === undefined || head.readUInt8(8) !== 8) throw new Error("not as Chromium writes it");
	const packed = Buffer.concat(chunks.filter(({ type }) => type === "IDAT").map(({ data }) => data));
	const pixels = undoFilters(inflateSync(packed), width, height, channels);
	const colours = Uint32Array.from({ length: width * height }, (_, at) =>
		pixels.readUIntBE(at * channels, 3),
	);
	const { palette, indexOf } = choosePalette(colours);
	// Each line begins with its filter: none, which suits a palette best.
	const lines = Buffer.alloc(height * (width + 1));
	for (const [at, colour] of colours.entries()) {
		lines[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = indexOf(colour);
	}
	const newHead = Buffer.from(head);
	newHead[9] = 3;
	return Buffer.concat([
		SIGNATURE,
		chunk("IHDR", newHead),
		chunk("PLTE", Buffer.concat(palette.map((colour) => Buffer.from([colour >> 16, colour >> 8, colour])))),
		chunk("IDAT", deflateSync(lines, { level: 9 })),
		chunk("IEND", Buffer.alloc(0)),
	]);
}

function readChunks(png: Buffer): { type: string; data: Buffer }[] {
	const chunks: { type: string; data: Buffer }[] = [];
	for (let at = SIGNATURE.length; at < png.length; ) {
		const length = png.readUInt32BE(at);
		chunks.push({
			type: png.toString("latin1", at + 4, at + 8),
			data: png.subarray(at + 8, at + 8 + length),
		});
		at += length + 12;
	}
	return chunks;
}

function undoFilters(lines: Buffer, width: number, height: number, channels: number): Buffer {
	const stride = width * channels;
	const pixels = Buffer.alloc(height * stride);
	for (let y = 0; y < height; y++) {
		const filter = lines[y * (stride + 1)] ?? 0;
		for (let x = 0; x < stride; x++) {
			const at = y * stride + x;
			const left = x < channels ? 0 : (pixels[at - channels] ?? 0);
			const above = y === 0 ? 0 : (pixels[at - stride] ?? 0);
			const corner = x < channels || y === 0 ? 0 : (pixels[at - stride - channels] ?? 0);
			const predicted = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter] ?? 0;
			pixels[at] = (lines[y * (stride + 1) + 1 + x] ?? 0) + predicted;
		}
	}
	return pixels;
}

function paeth(left: number, above: number, corner: number): number {
	const estimate = left + above - corner;
	const [toLeft, toAbove, toCorner] = [left, above, corner].map((value) => Math.abs(estimate - value)) as [
		number,
		number,
		number,
	];
	if (toLeft <= toAbove && toLeft <= toCorner) return left;
	return toAbove <= toCorner ? above : corner;
}

/** The colours seen most, then of each neighbourhood of colours the one seen most; every other becomes the nearest of these. */
function choosePalette(colours: Uint32Array): { palette: number[]; indexOf(colour: number): number } {
	const seen = new Map<number, number>();
	for (const colour of colours) seen.set(colour, (seen.get(colour) ?? 0) + 1);
	const taken = new Set<number>();
	const palette: number[] = [];
	for (const [colour] of [...seen].toSorted(([, a], [, b]) => b - a)) {
		const neighbourhood = colour & NEIGHBOURHOOD;
		if (palette.length === PALETTE_SIZE) break;
		if (palette.length >= EXACT_COLOURS && taken.has(neighbourhood)) continue;
		taken.add(neighbourhood);
		palette.push(colour);
	}
	const known = new Map(palette.map((colour, index) => [colour, index]));
	const indexOf = (colour: number): number => {
		const index = known.get(colour) ?? nearest(palette, colour);
		known.set(colour, index);
		return index;
	};
	return { palette, indexOf };
}

function nearest(palette: readonly number[], colour: number): number {
	const distances = palette.map(
		(other) =>
			((other >> 16) - (colour >> 16)) ** 2 +
			(((other >> 8) & 255) - ((colour >> 8) & 255)) ** 2 +
			((other & 255) - (colour & 255)) ** 2,
	);
	return distances.indexOf(Math.min(...distances));
}

function chunk(type: string, data: Buffer): Buffer {
	const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
	const length = Buffer.alloc(4);
	length.writeUInt32BE(data.length);
	const check = Buffer.alloc(4);
	check.writeUInt32BE(crc32(body));
	return Buffer.concat([length, body, check]);
}
