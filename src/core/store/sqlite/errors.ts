// Errors of SQLite, in the form in which node:sqlite throws them.

const SQLITE_BUSY = 5;
/** Mask of the primary result code. The upper bits only distinguish cases of the same error. */
const PRIMARY_CODE = 0xff;

export type SqliteError = Error & { errcode: number };

export function isSqliteError(error: unknown): error is SqliteError {
	return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** Returns whether the statement failed because another connection held the lock that it needed. */
export function isBusy(error: unknown): boolean {
	return isSqliteError(error) && (error.errcode & PRIMARY_CODE) === SQLITE_BUSY;
}
