// A picture by its own bytes: which kind it is, and how large. What it is called, and what whoever sends it says it is,
// counts for nothing. Only kinds that cannot hold a script.

import { type Result, refuse, succeed } from "../domain/fault.ts";

export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/webp"] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

export interface Image {
	type: ImageType;
	width: number;
	height: number;
}

/** A logo is drawn 28 pixels high; twice or four times that is plenty, and every page of every visitor loads it. */
export const MAX_LOGO_BYTES = 256 * 1_024;
const MAX_LOGO_PIXELS = 1_024;
const MIN_LOGO_PIXELS = 16;

export function judgeLogo(bytes: Uint8Array): Result<Image> {
	if (bytes.length > MAX_LOGO_BYTES)
		return refuseImage(`The picture is larger than ${MAX_LOGO_BYTES / 1_024} KB.`);
	const image = readImage(bytes);
	if (image === undefined) return refuseImage("This is not a PNG, JPEG or WebP picture.");
	const { width, height } = image;
	if (Math.max(width, height) > MAX_LOGO_PIXELS || Math.min(width, height) < MIN_LOGO_PIXELS) {
		return refuseImage(`The picture has ${width} × ${height} pixels.`);
	}
	return succeed(image);
}

function refuseImage(what: string): ReturnType<typeof refuse> {
	const rule = `Choose a PNG, JPEG or WebP of at most ${MAX_LOGO_BYTES / 1_024} KB, ${MIN_LOGO_PIXELS} to ${MAX_LOGO_PIXELS.toLocaleString("en")} pixels wide and high.`;
	return refuse("invalid_image", `${what} ${rule}`, "file");
}

/** Undefined for every other kind of file, and for one that is cut off before it says how large it is. */
export function readImage(bytes: Uint8Array): Image | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return readPng(view) ?? readJpeg(view) ?? readWebp(view);
}

/** The signature, and behind it always the header with both sizes. */
function readPng(view: DataView): Image | undefined {
	if (view.byteLength < 33 || view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a)
		return undefined;
	if (textAt(view, 12, 4) !== "IHDR") return undefined;
	return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
}

/** Sizes are in the first "start of frame", behind any number of segments that each say how long they are. */
function readJpeg(view: DataView): Image | undefined {
	if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined;
	for (let at = 2; at + 9 <= view.byteLength; ) {
		if (view.getUint8(at) !== 0xff) return undefined;
		const marker = view.getUint8(at + 1);
		if (isStartOfFrame(marker)) {
			return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
		}
		// Any number of fill bytes may stand before a marker; those below have no length.
		if (marker === 0xff) at += 1;
		else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) at += 2;
		else if (marker === 0xda || marker === 0xd9) return undefined;
		else at += 2 + Math.max(2, view.getUint16(at + 2));
	}
	return undefined;
}

/** Without the three of that range that are tables. */
function isStartOfFrame(marker: number): boolean {
	return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** Three forms: lossy, lossless, and the extended one in front of either. */
function readWebp(view: DataView): Image | undefined {
	if (view.byteLength < 30 || textAt(view, 0, 4) !== "RIFF" || textAt(view, 8, 4) !== "WEBP")
		return undefined;
	const type = "image/webp";
	switch (textAt(view, 12, 4)) {
		case "VP8 ":
			return { type, width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
		case "VP8L": {
			const sizes = view.getUint32(21, true);
			return { type, width: (sizes & 0x3fff) + 1, height: ((sizes >>> 14) & 0x3fff) + 1 };
		}
		case "VP8X":
			return { type, width: uint24At(view, 24) + 1, height: uint24At(view, 27) + 1 };
		default:
			return undefined;
	}
}

function uint24At(view: DataView, at: number): number {
	return view.getUint16(at, true) + view.getUint8(at + 2) * 0x10000;
}

function textAt(view: DataView, at: number, length: number): string {
	return Array.from({ length }, (_, index) => String.fromCharCode(view.getUint8(at + index))).join("");
}
