// Told from an error's code, never from its text: is the database out of reach or out of room, so that trying
// again later helps?

/** The system's words for a connection that cannot be made or has broken. */
const CONNECTION_CODES = new Set([
	"ECONNREFUSED",
	"ECONNRESET",
	"EPIPE",
	"ETIMEDOUT",
	"EHOSTUNREACH",
	"ENETUNREACH",
	"ENOTFOUND",
	"EAI_AGAIN",
]);

/**
 * PostgreSQL: class 08 is connection exceptions, 57P0x shutting down or starting, class 53 out of something (disk,
 * memory, connections); 40001 and 40P01 end one of several transactions that are in each other's way. 57014, 55P03 and
 * 25P03 are the server's limits on a statement, on waiting for a lock and on a transaction that does nothing.
 */
const SQLSTATE = /^(?:08[0-9A-Z]{3}|57P0[1-5]|53[0-9A-Z]{3}|40001|40P01|57014|55P03|25P03)$/;
const DEADLOCK: readonly unknown[] = ["40001", "40P01"];
const LOCK_NOT_GIVEN = "55P03";

/**
 * SQLITE_BUSY and SQLITE_LOCKED: another process held the file for longer than we wait. SQLITE_IOERR, SQLITE_FULL
 * and SQLITE_CANTOPEN: the disk is full or gone.
 */
const SQLITE_CODES: readonly number[] = [5, 6, 10, 13, 14];
/** The upper bits of a SQLite result code say more about the same thing. */
const SQLITE_PRIMARY_CODE = 0xff;

/** Code of a read whose thread has ended. The next read starts another thread. */
export const READER_ENDED = "ERR_READER_ENDED";

/** Several transactions were in each other's way, and the database ended this one: trying again at once helps. */
export function wasEndedForOthers(error: unknown): boolean {
	return error instanceof Error && "code" in error && DEADLOCK.includes(error.code);
}

/** Somebody holds a row that this transaction needs. */
export function waitedForLock(error: unknown): boolean {
	return error instanceof Error && "code" in error && error.code === LOCK_NOT_GIVEN;
}

export function isDatabaseUnavailable(error: unknown): boolean {
	if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
	if (error.code === "ERR_SQLITE_ERROR") {
		return (
			"errcode" in error &&
			typeof error.errcode === "number" &&
			SQLITE_CODES.includes(error.errcode & SQLITE_PRIMARY_CODE)
		);
	}
	return error.code === READER_ENDED || CONNECTION_CODES.has(error.code) || SQLSTATE.test(error.code);
}
