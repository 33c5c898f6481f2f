// A backup is one file: two lines that say what it is, the database in compressed form, and one line of checksums.
//
//   ringback-backup 1\n            the form of the file
//   {"program":"1.0.0",…}\n        the manifest, as JSON
//   …                              the database file, zstd
//   ringback-end <sha256> <sha256>\n   of the database as it was before compressing, and of all bytes of this file before this line
//
// The first lines can be read with `head -2`; the last one is written last, so that a file that was cut has none. The
// key that opens the signing secrets is in the manifest, sealed by a passphrase, or left out.

import { readJson } from "./json.ts";
import type { SealedKey } from "./passphrase.ts";
import { readSealedKey } from "./passphrase.ts";

export interface Manifest {
	/** The program's version that made it. */
	program: string;
	/** ISO 8601: what was stored by then is in it. */
	createdAt: string;
	schema: ManifestSchema;
	/** Of the database before compressing. */
	databaseBytes: number;
	/** Null when it was left out. */
	key: SealedKey | null;
}

export interface ManifestSchema {
	version: number;
	/** The oldest program that can work with it. */
	oldestProgram: number;
	firstName: string;
}

export interface Checksums {
	/** SHA-256 in hex. */
	database: string;
	file: string;
}

export type BackupHead =
	| { kind: "backup"; manifest: Manifest; bodyAt: number }
	/** Of a later form than this program knows. */
	| { kind: "later" }
	| { kind: "damaged" }
	| { kind: "other" };

const MAGIC = "ringback-backup ";
const FORM = 1;
const END = "ringback-end ";
const HEX_CHARACTERS = 64;
/** Where the two lines must be over. */
export const HEAD_BYTES = 16_384;
/** The last line, its end included. */
export const TAIL_BYTES: number = END.length + 2 * HEX_CHARACTERS + 2;

export function writeHead(manifest: Manifest): string {
	return `${MAGIC}${FORM}\n${JSON.stringify(manifest)}\n`;
}

/** `bytes` are the first of a file, HEAD_BYTES or all it has. */
export function readHead(bytes: Uint8Array): BackupHead {
	const text = Buffer.from(bytes).toString("latin1");
	if (!text.startsWith(MAGIC)) return { kind: "other" };
	const [first = "", second] = text.split("\n", 2);
	const form = first.slice(MAGIC.length);
	if (!/^\d{1,9}$/.test(form)) return { kind: "damaged" };
	if (Number(form) > FORM) return { kind: "later" };
	const bodyAt = first.length + 1 + (second ?? "").length + 1;
	if (second === undefined || bodyAt > bytes.length) return { kind: "damaged" };
	const manifest = readManifest(readJson(Buffer.from(second, "latin1").toString("utf8")));
	return manifest === null ? { kind: "damaged" } : { kind: "backup", manifest, bodyAt };
}

function readManifest(value: unknown): Manifest | null {
	if (!isRecord(value) || !isRecord(value["schema"])) return null;
	const { program, createdAt, databaseBytes, key } = value;
	const { version, oldestProgram, firstName } = value["schema"];
	const sealed = key === null ? null : readSealedKey(key);
	const isWhole =
		typeof program === "string" &&
		typeof createdAt === "string" &&
		!Number.isNaN(Date.parse(createdAt)) &&
		isCount(databaseBytes) &&
		isCount(version) &&
		isCount(oldestProgram) &&
		typeof firstName === "string" &&
		sealed !== undefined;
	if (!isWhole) return null;
	return { program, createdAt, databaseBytes, key: sealed, schema: { version, oldestProgram, firstName } };
}

function isCount(value: unknown): value is number {
	return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null;
}

export function writeTail({ database, file }: Checksums): string {
	return `${END}${database} ${file}\n`;
}

/** The last TAIL_BYTES of a file; null when it is cut or damaged. */
export function readTail(bytes: Uint8Array): Checksums | null {
	const text = Buffer.from(bytes).toString("latin1");
	const [, database, file] = /^ringback-end ([0-9a-f]{64}) ([0-9a-f]{64})\n$/.exec(text) ?? [];
	return database === undefined || file === undefined ? null : { database, file };
}
