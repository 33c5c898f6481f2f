// The first bytes of a pg_dump in custom format: which server it came from, and when. As PostgreSQL's pg_backup_archiver
// writes them since version 10.

export interface DumpHeader {
	/** Server and pg_dump, as they call themselves: "18.0 (Debian 18.0-1)". */
	serverVersion: string;
	dumpVersion: string;
	databaseName: string;
}

const MAGIC = "PGDMP";
const CUSTOM = 1;
/** From PostgreSQL 16 on: how it is compressed is one byte, and was a number before. */
const COMPRESSION_IS_A_BYTE = 15;
/** Seconds, minutes, hours, day, month, year, daylight saving. */
const TIME_NUMBERS = 7;
/** More than any name or version has. */
const MAX_TEXT = 1_000;
/** Enough for the header with the longest texts. */
export const DUMP_HEADER_BYTES = 4_096;

export function isDump(bytes: Uint8Array): boolean {
	return Buffer.from(bytes.subarray(0, MAGIC.length)).toString("latin1") === MAGIC;
}

/** Null for another format, and for what is damaged. */
export function readDumpHeader(bytes: Uint8Array): DumpHeader | null {
	if (!isDump(bytes)) return null;
	const data = Buffer.from(bytes);
	const [major, minor, , intBytes = 0, , format] = data.subarray(MAGIC.length);
	if (major !== 1 || minor === undefined || intBytes < 1 || intBytes > 6 || format !== CUSTOM) return null;
	let at = MAGIC.length + 6;
	const number = (): number => {
		const isNegative = data[at] === 1;
		const value = data.readUIntLE(at + 1, intBytes);
		at += 1 + intBytes;
		return isNegative ? -value : value;
	};
	const text = (): string => {
		const length = number();
		if (length > MAX_TEXT) throw new RangeError("no name is so long");
		const value = data.subarray(at, at + Math.max(0, length)).toString("utf8");
		at += Math.max(0, length);
		return value;
	};
	try {
		if (minor >= COMPRESSION_IS_A_BYTE) at += 1;
		else number();
		for (let count = 0; count < TIME_NUMBERS; count++) number();
		return { databaseName: text(), serverVersion: text(), dumpVersion: text() };
	} catch {
		// Cut, or not what it says: reading behind the end throws.
		return null;
	}
}

/** "18.1 (Debian …)" is of 18. Null for what is no version. */
export function majorVersion(version: string): number | null {
	const [, major] = /^(\d+)/.exec(version) ?? [];
	return major === undefined ? null : Number(major);
}
