// SQLite's errors as node:sqlite throws them.

const SQLITE_BUSY = 5;
/** The upper bits of a result code tell cases of the same error apart. */
const PRIMARY_CODE = 0xff;

export type SqliteError = Error & { errcode: number };

export function isSqliteError(error: unknown): error is SqliteError {
	return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** Tells whether another connection held the lock that the statement needed. */
export function isBusy(error: unknown): boolean {
	return isSqliteError(error) && (error.errcode & PRIMARY_CODE) === SQLITE_BUSY;
}
