// PostgreSQL's own programs, where the machine has them: pg_dump makes backups, pg_restore reads them.

import { execFile } from "node:child_process";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { DUMP_HEADER_BYTES, type DumpHeader, isDump, readDumpHeader } from "../domain/postgres-dump.ts";

const run = promisify(execFile);
/** A line for each table, index and partition. */
const LIST_BYTES = 64 * 1024 * 1024;

/** "18.1 (Debian 18.1-1)", or null when there is no such program in the PATH. */
export async function findProgram(name: "pg_dump" | "pg_restore"): Promise<string | null> {
	try {
		const { stdout } = await run(name, ["--version"]);
		const [, version = stdout.trim()] = /\(PostgreSQL\) (.+)/.exec(stdout) ?? [];
		return version;
	} catch {
		// Not there, or it does not run here: no use either way.
		return null;
	}
}

export interface DumpCheck {
	/** Null when it cannot be read. */
	header: DumpHeader | null;
	/** Null when it is not at hand: then nothing but the header was read. */
	pgRestore: string | null;
	/** Tables whose rows are in it, as pg_restore lists them. */
	tables: readonly string[];
	/** What pg_restore said when it could not read the whole file. */
	problem: string | null;
}

async function readFirst(path: string): Promise<Uint8Array> {
	const handle = await open(path, "r");
	try {
		const { buffer, bytesRead } = await handle.read(Buffer.alloc(DUMP_HEADER_BYTES), 0, DUMP_HEADER_BYTES, 0);
		return buffer.subarray(0, bytesRead);
	} finally {
		await handle.close();
	}
}

export async function isPostgresDump(path: string): Promise<boolean> {
	return isDump(await readFirst(path));
}

/** Reads every block of it, and restores nothing. */
export async function readDump(path: string): Promise<DumpCheck> {
	const header = readDumpHeader(await readFirst(path));
	const pgRestore = header === null ? null : await findProgram("pg_restore");
	if (pgRestore === null) return { header, pgRestore, tables: [], problem: null };
	try {
		const { stdout } = await run("pg_restore", ["--list", path], { maxBuffer: LIST_BYTES });
		const tables = [...stdout.matchAll(/ TABLE DATA \S+ (\S+) /g)].map(([, name = ""]) => name);
		await run("pg_restore", ["--file=/dev/null", path]);
		return { header, pgRestore, tables, problem: null };
	} catch (error) {
		return { header, pgRestore, tables: [], problem: firstLine(error) };
	}
}

/** Of what the program said; without a word of its own, what Node says of it. */
function firstLine(error: unknown): string {
	const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
	const [first = ""] = said.split("\n");
	return first === "" ? String(error) : first;
}
