// Recognizes errors after which a later retry helps, because the database cannot be reached, is read-only or has no
// space. The error's code decides, never its text.

/** System error codes for connections that cannot be opened or have broken. */
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
 * PostgreSQL's error codes. Class 08 is connection exceptions, 57P0x is a server that shuts down or starts, and class
 * 53 is a lack of disk space, memory or connections. With 40001 and 40P01 the server ends one of several conflicting
 * transactions. 57014, 55P03, 25P03 and 25P04 are the server's time limits for a statement, a lock, an idle
 * transaction and a whole transaction. 25006 comes from a standby or a server that was set to read-only, and 58030 is
 * a failing disk.
 */
const SQLSTATE = /^(?:08[0-9A-Z]{3}|57P0[1-5]|53[0-9A-Z]{3}|40001|40P01|57014|55P03|25P0[34]|25006|58030)$/;
const READ_ONLY = "25006";
const DEADLOCK: readonly unknown[] = ["40001", "40P01"];
const LOCK_NOT_GIVEN = "55P03";

/**
 * SQLITE_BUSY and SQLITE_LOCKED mean that another process held the file for longer than we wait. SQLITE_READONLY,
 * SQLITE_IOERR, SQLITE_FULL and SQLITE_CANTOPEN mean that the disk is read-only, failing, full or gone.
 */
const SQLITE_CODES: readonly number[] = [5, 6, 8, 10, 13, 14];
/** Mask of the primary result code. The upper bits only add detail. */
const SQLITE_PRIMARY_CODE = 0xff;

/** Code of a read whose thread has ended. The next read starts another thread. */
export const READER_ENDED = "ERR_READER_ENDED";

/**
 * Returns whether the database ended this transaction because of a deadlock or conflict, so that an immediate retry
 * helps.
 */
export function wasEndedForOthers(error: unknown): boolean {
	return error instanceof Error && "code" in error && DEADLOCK.includes(error.code);
}

/** Returns whether the statement failed because another transaction held a lock for too long. */
export function waitedForLock(error: unknown): boolean {
	return error instanceof Error && "code" in error && error.code === LOCK_NOT_GIVEN;
}

/** Returns whether PostgreSQL refused a write because it is a standby or was set to read-only. */
export function isReadOnly(error: unknown): boolean {
	return error instanceof Error && "code" in error && error.code === READ_ONLY;
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
