// Judges the network's logo by its bytes alone, and not by its file name or content type. Only PNG is accepted, because
// every drawing program can write it and it cannot contain a script.

import { crc32, inflateSync } from "node:zlib";
import { groupDigits } from "../domain/bytes.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";

export const LOGO_TYPE = "image/png";

export interface Logo {
	width: number;
	height: number;
	/** Picture without chunks that are not needed to show it, such as texts, places and times. */
	bytes: Uint8Array;
}

/**
 * Maximum size of a logo. Every page loads the logo and shows it 28 pixels high. A picture of four times that
 * height is much smaller than this.
 */
export const MAX_LOGO_BYTES = 256 * 1_024;
const MAX_LOGO_PIXELS = 1_024;
const MIN_LOGO_PIXELS = 16;

const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const HEADER_LENGTH = 13;
/** Number of bytes of a chunk that are not its data: length, name and checksum. */
const CHUNK_FRAME_LENGTH = 12;
/** Chunks that determine how the picture looks. All other chunks are removed, including those of animations. */
const SHOWN_CHUNKS: readonly string[] = ["IHDR", "PLTE", "tRNS", "gAMA", "cHRM", "sRGB", "IDAT", "IEND"];
/**
 * Maximum number of bytes of the unpacked pixels: eight for each pixel and one for each row. Interlaced pictures have
 * seven passes with additional rows.
 */
const MAX_UNPACKED_BYTES = (MAX_LOGO_PIXELS * 8 + 7) * MAX_LOGO_PIXELS;

export function judgeLogo(bytes: Uint8Array): Result<Logo> {
	const picture = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (picture.length > MAX_LOGO_BYTES) {
		return refuseImage(`The picture is larger than ${MAX_LOGO_BYTES / 1_024} KB.`);
	}
	if (!picture.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) {
		return refuseImage("This is not a PNG picture.");
	}
	const chunks = readChunks(picture.subarray(PNG_SIGNATURE.length));
	const [header] = chunks ?? [];
	if (chunks === null || header?.name !== "IHDR" || header.data.length !== HEADER_LENGTH) return DAMAGED;
	const [width, height] = [header.data.readUInt32BE(0), header.data.readUInt32BE(4)];
	if (Math.max(width, height) > MAX_LOGO_PIXELS || Math.min(width, height) < MIN_LOGO_PIXELS) {
		return refuseImage(`The picture has ${width} × ${height} pixels.`);
	}
	if (!hasPixels(chunks)) return DAMAGED;
	const shown = chunks.filter(({ name }) => SHOWN_CHUNKS.includes(name)).map(({ whole }) => whole);
	return succeed({ width, height, bytes: Buffer.concat([PNG_SIGNATURE, ...shown]) });
}

interface Chunk {
	name: string;
	data: Buffer;
	whole: Buffer;
}

/** Returns the chunks up to the final one (IEND), or null if a chunk is cut off or damaged. */
function readChunks(rest: Buffer): Chunk[] | null {
	const chunks: Chunk[] = [];
	for (let at = 0; at + CHUNK_FRAME_LENGTH <= rest.length; ) {
		const length = rest.readUInt32BE(at);
		const whole = rest.subarray(at, at + CHUNK_FRAME_LENGTH + length);
		if (whole.length < CHUNK_FRAME_LENGTH + length) return null;
		const name = whole.toString("latin1", 4, 8);
		if (crc32(whole.subarray(4, 8 + length)) !== whole.readUInt32BE(8 + length)) return null;
		chunks.push({ name, data: whole.subarray(8, 8 + length), whole });
		if (name === "IEND") return chunks;
		at += whole.length;
	}
	return null;
}

/** Returns whether the pixels can be unpacked within the size limit of a logo. */
function hasPixels(chunks: readonly Chunk[]): boolean {
	const packed = chunks.filter(({ name }) => name === "IDAT").map(({ data }) => data);
	try {
		return inflateSync(Buffer.concat(packed), { maxOutputLength: MAX_UNPACKED_BYTES }).length > 0;
	} catch {
		// The data is damaged, cut off or larger than any picture of this size.
		return false;
	}
}

function refuseImage(problem: string): ReturnType<typeof refuse> {
	const rule = `Choose a PNG of at most ${MAX_LOGO_BYTES / 1_024} KB, ${MIN_LOGO_PIXELS} to ${groupDigits(MAX_LOGO_PIXELS)} pixels wide and high.`;
	return refuse("invalid_image", `${problem} ${rule}`, "file");
}

const DAMAGED = refuseImage("This PNG picture is damaged or was cut off.");
