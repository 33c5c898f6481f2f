// A backup is a plain tar file. It has three members that ordinary programs can read:
//
//   ringback.db.zst   the database, compressed by zstd
//   manifest.json     the description of the backup, and the keys that open the sealed values if they were included,
//                     sealed by a passphrase
//   SHA256SUMS        the checksums of the other two, in the form that `sha256sum --check` reads
//
// SHA256SUMS is written last, so a file that was cut off has none. The checksums detect accidents. They do not protect
// against somebody who rewrites the file.

import * as z from "zod";
import { readJson } from "./json.ts";
import { SEALED_KEY } from "./passphrase.ts";
import { sha256Hex } from "./signature.ts";

const count = z.int().min(0);

const MANIFEST_JSON = z.object({
	program: z.string(),
	/** Time at which the backup was made. It contains everything that was stored before this time. */
	createdAt: z.iso.datetime(),
	/** `oldestProgram` is the oldest schema version that a program must know to work with the database. */
	schema: z.object({ version: count, oldestProgram: count, firstName: z.string() }),
	/** Size of the database before compression. */
	databaseBytes: count,
	/** Sealing key, itself sealed by a passphrase, or null if the backup does not contain it. */
	key: SEALED_KEY.nullable(),
});
export type Manifest = z.infer<typeof MANIFEST_JSON>;

export interface BackupContents {
	manifest: Manifest;
	/** Position after the last byte of the compressed database, which starts at DATABASE_AT. */
	endAt: number;
	sha256: string;
}

export type FoundContents = BackupContents | "no backup" | "damaged" | "later form";

/** Reads bytes of the file. Resolves to fewer bytes if the end of the file is reached first. */
export type ReadAt = (at: number, bytes: number) => Promise<Buffer>;

const DATABASE = "ringback.db.zst";
const MANIFEST = "manifest.json";
const SUMS = "SHA256SUMS";
/**
 * Version of the file format, which the manifest contains. A program refuses a backup with a higher version.
 */
const FORM = 1;
const BLOCK_BYTES = 512;
/** Maximum total size of the members after the database. */
const MAX_TAIL_BYTES = 16_384;
/** Position of the compressed database, after its tar header. */
export const DATABASE_AT = BLOCK_BYTES;

/**
 * Returns the bytes of the backup file that come before the compressed database, and those that come after
 * it.
 */
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
			// Two empty blocks mark the end of a tar archive.
			Buffer.alloc(2 * BLOCK_BYTES),
		]),
	};
}

/**
 * Reads the manifest and the checksums of a backup file. The database itself is not verified against its
 * checksum here.
 */
export async function findContents(readAt: ReadAt): Promise<FoundContents> {
	const header = await readAt(0, BLOCK_BYTES);
	if (header.toString("latin1", 0, DATABASE.length) !== DATABASE) return "no backup";
	const bytes = readTarHeader(header, DATABASE);
	if (bytes === null) return "damaged";
	const tail = await readAt(DATABASE_AT + bytes + padding(bytes).length, MAX_TAIL_BYTES);
	const text = readMember(tail, 0, MANIFEST);
	const sums = text === null ? null : readMember(tail, text.endAt, SUMS);
	const [, sha256, manifestSha256] = SUM_LINES.exec(sums?.body.toString("latin1") ?? "") ?? [];
	if (text === null || sha256 === undefined || sha256Hex(text.body) !== manifestSha256) return "damaged";
	const json = readJson(text.body.toString());
	if (z.object({ form: z.int().min(FORM + 1) }).safeParse(json).success) return "later form";
	const manifest = MANIFEST_JSON.safeParse(json).data;
	return manifest === undefined ? "damaged" : { manifest, sha256, endAt: DATABASE_AT + bytes };
}

const SUM_LINES = /^([0-9a-f]{64}) {2}ringback\.db\.zst\n([0-9a-f]{64}) {2}manifest\.json\n$/;

/** Positions of the fields in a tar header (POSIX ustar). */
const [MODE_AT, SIZE_AT, TIME_AT, SUM_AT, TYPE_AT, MAGIC_AT] = [100, 124, 136, 148, 156, 257];
/** Smallest size that does not fit into the eleven octal digits of a tar header. */
const OCTAL_LIMIT = 8 ** 11;

/** Returns the tar header of a plain file that only its owner may read. */
function writeTarHeader(name: string, bytes: number, atMs: number): Buffer {
	const header = Buffer.alloc(BLOCK_BYTES);
	header.write(name, 0);
	// After the mode, the fields for owner and group are 0, so that the file belongs to the person who unpacks
	// it.
	header.write("0000600\u00000000000\u00000000000\u0000", MODE_AT);
	if (bytes < OCTAL_LIMIT) header.write(octal(bytes, 11), SIZE_AT);
	else {
		// GNU and BSD tar write a size that needs more digits as a marker byte followed by a binary number.
		header[SIZE_AT] = 0x80;
		header.writeBigUInt64BE(BigInt(bytes), SIZE_AT + 4);
	}
	header.write(octal(Math.floor(atMs / 1000), 11), TIME_AT);
	header.write("0", TYPE_AT);
	header.write("ustar\u000000", MAGIC_AT);
	header.write(`${octal(sumOf(header), 6)}\u0000 `, SUM_AT);
	return header;
}

/**
 * Returns the size of the tar member, or null if the member has another name or the checksum of its header is
 * wrong.
 */
function readTarHeader(header: Buffer, name: string): number | null {
	if (header.length < BLOCK_BYTES) return null;
	const hasName = header.toString("latin1", 0, name.length + 1) === `${name}\u0000`;
	if (!hasName || header.toString("latin1", SUM_AT, SUM_AT + 6) !== octal(sumOf(header), 6)) return null;
	if (header[SIZE_AT] === 0x80) return Number(header.readBigUInt64BE(SIZE_AT + 4));
	return Number.parseInt(header.toString("latin1", SIZE_AT, SIZE_AT + 11), 8);
}

/** Returns a member of the tar file, or null if the member is missing or incomplete. */
function readMember(bytes: Buffer, at: number, name: string): { body: Buffer; endAt: number } | null {
	const size = readTarHeader(bytes.subarray(at, at + BLOCK_BYTES), name);
	const startAt = at + BLOCK_BYTES;
	if (size === null || startAt + size > bytes.length) return null;
	return { body: bytes.subarray(startAt, startAt + size), endAt: startAt + size + padding(size).length };
}

/**
 * Returns the checksum of a tar header, which is the sum of its bytes. The eight bytes of the checksum field
 * count as spaces.
 */
function sumOf(header: Buffer): number {
	let sum = 8 * 32;
	for (const [at, byte] of header.entries()) if (at < SUM_AT || at >= SUM_AT + 8) sum += byte;
	return sum;
}

function octal(value: number, digits: number): string {
	return value.toString(8).padStart(digits, "0");
}

/** Returns the zero bytes that fill the last block of a tar member. */
function padding(bytes: number): Buffer {
	return Buffer.alloc((BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES);
}
