import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { chunkOf, PNG_SIGNATURE, pngOf } from "../../../test/support/images.ts";
import { judgeLogo, MAX_LOGO_BYTES } from "./logo.ts";

test("a file that is not a PNG by its bytes is refused", () => {
	for (const text of [
		'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
		"<!doctype html><script>alert(1)</script>",
		"GIF89a\u0001\u0000\u0001\u0000",
		"",
	]) {
		const judged = judgeLogo(Buffer.from(text, "latin1"));
		ok(!judged.ok);
		match(judged.fault.detail, /^This is not a PNG picture\./);
	}
});

test("a picture that is cut off at any byte, or has one changed byte, is refused", () => {
	const whole = pngOf(64, 28);
	for (let length = PNG_SIGNATURE.length; length < whole.length; length++) {
		match(problemOf(whole.subarray(0, length)), /damaged or was cut off/, `${length} bytes`);
	}
	for (let at = PNG_SIGNATURE.length; at < whole.length; at++) {
		const changed = Buffer.from(whole);
		changed[at] = (changed[at] ?? 0) ^ 1;
		match(problemOf(changed), /damaged or was cut off/, `byte ${at}`);
	}
});

test("a logo has from 16 to 1,024 pixels in each direction, and at most 256 KB", () => {
	for (const [width, height, isTaken] of [
		[16, 16, true],
		[1_024, 1_024, true],
		[15, 100, false],
		[100, 15, false],
		[1_025, 100, false],
		[100, 1_025, false],
		[0, 0, false],
		[4_294_967_295, 16, false],
	] as const) {
		equal(judgeLogo(pngOf(width, height)).ok, isTaken, `${width} × ${height}`);
	}
	const padded = (bytes: number) => Buffer.concat([pngOf(64, 64)], bytes);
	equal(judgeLogo(padded(MAX_LOGO_BYTES)).ok, true);
	equal(judgeLogo(padded(MAX_LOGO_BYTES + 1)).ok, false);
});

test("a small file that unpacks to many megabytes is refused", () => {
	const [header] = splitChunks(pngOf(64, 64));
	const bomb = chunkOf("IDAT", deflateSync(Buffer.alloc(20 * 1_024 * 1_024)));
	const file = Buffer.concat([
		PNG_SIGNATURE,
		header ?? Buffer.alloc(0),
		bomb,
		chunkOf("IEND", Buffer.alloc(0)),
	]);
	ok(file.length < MAX_LOGO_BYTES, `${file.length} bytes`);
	match(problemOf(file), /damaged or was cut off/);
});

test("only what is needed to show the picture is kept", () => {
	const chunks = splitChunks(pngOf(64, 64));
	const [header, pixels, end] = chunks;
	const hidden = [
		chunkOf("tEXt", Buffer.from("Author\0Erika Mustermann")),
		chunkOf("eXIf", Buffer.from("48.1374, 11.5755")),
		chunkOf("acTL", Buffer.alloc(8)),
	];
	const file = Buffer.concat([
		PNG_SIGNATURE,
		...[header, hidden[0], pixels, hidden[1], hidden[2], end].map((chunk) => chunk ?? Buffer.alloc(0)),
		Buffer.from("<script>alert(1)</script>"),
	]);
	const judged = judgeLogo(file);
	ok(judged.ok);
	deepEqual(Buffer.from(judged.value.bytes), pngOf(64, 64));
});

function problemOf(bytes: Uint8Array): string {
	const judged = judgeLogo(bytes);
	ok(!judged.ok);
	return judged.fault.detail;
}

/** Returns the three chunks of a picture that `pngOf` made. */
function splitChunks(picture: Buffer): Buffer[] {
	const chunks: Buffer[] = [];
	for (let at = PNG_SIGNATURE.length; at < picture.length; ) {
		const length = 12 + picture.readUInt32BE(at);
		chunks.push(picture.subarray(at, at + length));
		at += length;
	}
	return chunks;
}
