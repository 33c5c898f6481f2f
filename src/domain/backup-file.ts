// A backup is one plain tar file, with three members that ordinary programs can read:
//
//   ringback.db.zst   the database, packed by zstd
//   manifest.json     what it is, with the key that opens the signing secrets, sealed by a passphrase, or without it
//   SHA256SUMS        of the two, as `sha256sum --check` takes them
//
// SHA256SUMS is written last, so that a file that was cut has none. The checksums are against accidents, not against
// somebody who rewrites the file. The backups of 1.0.0 had a form of their own, which is still read: see `findFirstForm`.

import * as z from "zod";
import { readJson } from "./json.ts";
import { SEALED_KEY } from "./passphrase.ts";
import { sha256Hex } from "./signature.ts";

const count = z.int().min(0);

const MANIFEST_JSON = z.object({
	/** The program's version that made it. */
	program: z.string(),
	/** What was stored by then is in it. */
	createdAt: z.iso.datetime(),
	/** `oldestProgram` is the oldest that can work with it. */
	schema: z.object({ version: count, oldestProgram: count, firstName: z.string() }),
	/** Of the database before packing. */
	databaseBytes: count,
	/** Null when it was left out. */
	key: SEALED_KEY.nullable(),
});
export type Manifest = z.infer<typeof MANIFEST_JSON>;

/** Where the packed database is in a file; `endAt` is behind its last byte. */
export interface BackupContents {
	manifest: Manifest;
	startAt: number;
	endAt: number;
	/** Of everything from `hashedFrom` to `endAt`. */
	sha256: string;
	hashedFrom: number;
}

export type FoundContents = BackupContents | "no backup" | "damaged" | "later form";

/** Resolves to fewer bytes where the file ends before. */
export type ReadAt = (at: number, bytes: number) => Promise<Buffer>;

const DATABASE = "ringback.db.zst";
const MANIFEST = "manifest.json";
const SUMS = "SHA256SUMS";
/** Of the manifest; that of 1.0.0 had no such number. */
const FORM = 2;
const BLOCK_BYTES = 512;
/** What stands behind the database is smaller than this, and so is the head of the first form. */
const SMALL_BYTES = 16_384;
export const DATABASE_AT = BLOCK_BYTES;

/** What stands before and behind the packed database. */
export function frameDatabase(
	manifest: Manifest,
	packed: { bytes: number; sha256: string },
): { head: Buffer; tail: Buffer } {
	const atMs = Date.parse(manifest.createdAt);
	const text = Buffer.from(`${JSON.stringify({ form: FORM, ...manifest }, null, "\t")}\n`);
	const sums = Buffer.from(`${packed.sha256}  ${DATABASE}\n${sha256Hex(text)}  ${MANIFEST}\n`);
	const member = (name: string, body: Buffer) => [
		writeTarHeader(name, body.length, atMs),
		body,
		padding(body.length),
	];
	return {
		head: writeTarHeader(DATABASE, packed.bytes, atMs),
		tail: Buffer.concat([
			padding(packed.bytes),
			...member(MANIFEST, text),
			...member(SUMS, sums),
			// Two empty blocks end an archive.
			Buffer.alloc(2 * BLOCK_BYTES),
		]),
	};
}

export async function findContents(readAt: ReadAt, fileBytes: number): Promise<FoundContents> {
	const first = await readAt(0, SMALL_BYTES);
	if (first.toString("latin1", 0, FIRST_FORM.length) === FIRST_FORM) {
		return findFirstForm(
			first,
			await readAt(fileBytes - FIRST_FORM_END_BYTES, FIRST_FORM_END_BYTES),
			fileBytes,
		);
	}
	if (first.toString("latin1", 0, DATABASE.length) !== DATABASE) return "no backup";
	const bytes = readTarHeader(first.subarray(0, BLOCK_BYTES), DATABASE);
	if (bytes === null) return "damaged";
	const rest = await readAt(DATABASE_AT + bytes + padding(bytes).length, SMALL_BYTES);
	const text = readMember(rest, 0, MANIFEST);
	const sums = text === null ? null : readMember(rest, text.endAt, SUMS);
	const [, sha256, ofManifest] = SUM_LINES.exec(sums?.body.toString("latin1") ?? "") ?? [];
	if (text === null || sha256 === undefined || sha256Hex(text.body) !== ofManifest) return "damaged";
	const json = readJson(text.body.toString());
	if (z.object({ form: z.int().min(FORM + 1) }).safeParse(json).success) return "later form";
	const manifest = MANIFEST_JSON.safeParse(json).data;
	const at = { startAt: DATABASE_AT, endAt: DATABASE_AT + bytes, hashedFrom: DATABASE_AT };
	return manifest === undefined ? "damaged" : { manifest, sha256, ...at };
}

const SUM_LINES = /^([0-9a-f]{64}) {2}ringback\.db\.zst\n([0-9a-f]{64}) {2}manifest\.json\n$/;

const FIRST_FORM = "ringback-backup 1\n";
const FIRST_FORM_END = /^ringback-end [0-9a-f]{64} ([0-9a-f]{64})\n$/;
const FIRST_FORM_END_BYTES = 143;

/**
 * As 1.0.0 wrote it: a line with the form, the manifest on one line, the packed database, and a last line with the
 * checksums of the database and of all bytes before that line.
 */
function findFirstForm(first: Buffer, end: Buffer, fileBytes: number): FoundContents {
	const startAt = first.indexOf("\n", FIRST_FORM.length) + 1;
	const [, sha256] = FIRST_FORM_END.exec(end.toString("latin1")) ?? [];
	const manifest = MANIFEST_JSON.safeParse(readJson(first.toString("utf8", FIRST_FORM.length, startAt))).data;
	if (startAt === 0 || manifest === undefined || sha256 === undefined) return "damaged";
	return { manifest, sha256, startAt, endAt: fileBytes - FIRST_FORM_END_BYTES, hashedFrom: 0 };
}

/** Where the fields of a header are (POSIX ustar). */
const [MODE_AT, SIZE_AT, TIME_AT, SUM_AT, TYPE_AT, MAGIC_AT] = [100, 124, 136, 148, 156, 257];
/** What eleven octal digits can say. */
const MOST_OCTAL = 8 ** 11;

/** Of a plain file that its owner alone may read. */
function writeTarHeader(name: string, bytes: number, atMs: number): Buffer {
	const header = Buffer.alloc(BLOCK_BYTES);
	header.write(name, 0);
	// Mode, then the numbers of owner and group: whoever unpacks it owns it.
	header.write("0000600\u00000000000\u00000000000\u0000", MODE_AT);
	if (bytes < MOST_OCTAL) header.write(octal(bytes, 11), SIZE_AT);
	else {
		// As GNU and BSD tar write larger ones: a marked first byte, and the number itself.
		header[SIZE_AT] = 0x80;
		header.writeBigUInt64BE(BigInt(bytes), SIZE_AT + 4);
	}
	header.write(octal(Math.floor(atMs / 1000), 11), TIME_AT);
	header.write("0", TYPE_AT);
	header.write("ustar\u000000", MAGIC_AT);
	header.write(`${octal(sumOf(header), 6)}\u0000 `, SUM_AT);
	return header;
}

/** The size of the member; null when it has another name or a byte of the header is wrong. */
function readTarHeader(header: Buffer, name: string): number | null {
	if (header.length < BLOCK_BYTES) return null;
	const isMeant = header.toString("latin1", 0, name.length + 1) === `${name}\u0000`;
	if (!isMeant || header.toString("latin1", SUM_AT, SUM_AT + 6) !== octal(sumOf(header), 6)) return null;
	if (header[SIZE_AT] === 0x80) return Number(header.readBigUInt64BE(SIZE_AT + 4));
	return Number.parseInt(header.toString("latin1", SIZE_AT, SIZE_AT + 11), 8);
}

/** Null when it is not there as a whole. */
function readMember(bytes: Buffer, at: number, name: string): { body: Buffer; endAt: number } | null {
	const size = readTarHeader(bytes.subarray(at, at + BLOCK_BYTES), name);
	const startAt = at + BLOCK_BYTES;
	if (size === null || startAt + size > bytes.length) return null;
	return { body: bytes.subarray(startAt, startAt + size), endAt: startAt + size + padding(size).length };
}

/** Of all bytes, those of the sum itself taken as blanks. */
function sumOf(header: Buffer): number {
	let sum = 8 * 32;
	for (const [at, byte] of header.entries()) if (at < SUM_AT || at >= SUM_AT + 8) sum += byte;
	return sum;
}

function octal(value: number, digits: number): string {
	return value.toString(8).padStart(digits, "0");
}

/** Members begin with a block. */
function padding(bytes: number): Buffer {
	return Buffer.alloc((BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES);
}
