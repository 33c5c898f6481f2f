// Where two texts differ, to the byte, for people's eyes: what is the same around it, and both sides with everything
// that cannot be seen written out.

import { showUnseen } from "./visible-text.ts";

export interface TextDifference {
	/** Bytes that both begin with, in UTF-8. */
	offset: number;
	signedBytes: number;
	seenBytes: number;
	/** The end of what both begin with, and the beginning of what both end with. */
	before: string;
	after: string;
	/** What stands between them, shortened. */
	signed: string;
	seen: string;
	/** The first bytes that differ, in hex. */
	signedHex: string;
	seenHex: string;
}

/** Enough to find the place. */
const AROUND = 16;
/** A line or two on a phone. */
const MAX_SHOWN = 72;
const MAX_HEX_BYTES = 8;

/** Null when there is none. */
export function differenceOf(signed: string, seen: string): TextDifference | null {
	if (signed === seen) return null;
	const start = sharedStart(signed, seen);
	const end = sharedEnd(signed, seen, start);
	const shared = signed.slice(signed.length - end);
	const signedPart = signed.slice(start, signed.length - end);
	const seenPart = seen.slice(start, seen.length - end);
	return {
		offset: Buffer.byteLength(signed.slice(0, start)),
		signedBytes: Buffer.byteLength(signed),
		seenBytes: Buffer.byteLength(seen),
		before:
			(start > AROUND ? "…" : "") +
			showUnseen(wholeCharacters(signed.slice(Math.max(0, start - AROUND), start))),
		after: showUnseen(wholeCharacters(shared.slice(0, AROUND))) + (shared.length > AROUND ? "…" : ""),
		signed: shorten(signedPart),
		seen: shorten(seenPart),
		signedHex: hexOf(signedPart),
		seenHex: hexOf(seenPart),
	};
}

function sharedStart(a: string, b: string): number {
	const most = Math.min(a.length, b.length);
	let at = 0;
	while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++;
	// Half a character is none: both halves are shown.
	return at > 0 && isHighSurrogate(a.charCodeAt(at - 1)) ? at - 1 : at;
}

function sharedEnd(a: string, b: string, start: number): number {
	const most = Math.min(a.length, b.length) - start;
	let count = 0;
	while (count < most && a.charCodeAt(a.length - 1 - count) === b.charCodeAt(b.length - 1 - count)) count++;
	return count > 0 && isLowSurrogate(a.charCodeAt(a.length - count)) ? count - 1 : count;
}

function isHighSurrogate(unit: number): boolean {
	return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
	return unit >= 0xdc00 && unit < 0xe000;
}

/** A cut may leave half a character at either end. */
function wholeCharacters(text: string): string {
	return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}

function shorten(text: string): string {
	if (text.length <= MAX_SHOWN) return showUnseen(text);
	const left = Buffer.byteLength(text.slice(MAX_SHOWN));
	return `${showUnseen(wholeCharacters(text.slice(0, MAX_SHOWN)))}… (${left} more bytes)`;
}

function hexOf(text: string): string {
	const bytes = Buffer.from(text.slice(0, MAX_HEX_BYTES), "utf8");
	const shown = bytes.subarray(0, MAX_HEX_BYTES).toString("hex");
	return shown.replace(/..(?!$)/g, "$& ") + (Buffer.byteLength(text) > MAX_HEX_BYTES ? " …" : "");
}
